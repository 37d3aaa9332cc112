"""Models of text, one file each, behind one small interface: estimate from counts, score documents."""
