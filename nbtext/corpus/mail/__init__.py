"""Mail: headers, parts, text."""
