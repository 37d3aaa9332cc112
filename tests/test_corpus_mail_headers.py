from __future__ import annotations

import pytest

from nbtext.corpus.mail.headers import (
    Headers,
    extract_fields,
    get_header_filter,
    guess_registered_domain,
    select_fields,
    split_headers,
)

MESSAGE = b"""Received: from mx.Example.ORG (mx.example.org [10.20.30.40]) by b.example.co.uk (8.11.6/8.11.6) id g7M; Thu, 22 Aug 2002 12:36:23
From: "Ann B." <Ann@mail.example.org>
To: bob@example.net, <carol@example.net>
Subject: =?utf-8?q?caf=C3=A9?=
Message-ID: <1@x>
Date: Thu, 22 Aug 2002 12:36:23 +0100
In-Reply-To: <2@y>
X-Mailer: Mutt 1.4
Content-Type: text/plain

body
"""


def headers(message: bytes, *names: bytes) -> Headers:
    return split_headers(message, get_header_filter(names or None))[0]


def test_all_headers_are_fields() -> None:
    words, items = extract_fields(headers(MESSAGE), "auto")
    assert words == [
        (b"from", b'"Ann B." <Ann >'), (b"to", b"bob , <carol >"), (b"subject", "café".encode()),
        (b"x-mailer", b"Mutt 1.4"),
    ]  # fmt: skip
    assert items.decode().split() == [
        "header:received", "header:from", "from:ann@mail.example.org", "from:mail.example.org", "from:example.org", "from:org", "header:to", "to:bob@example.net", "to:example.net", "to:net",
        "to:carol@example.net", "header:subject", "header:in-reply-to", "header:x-mailer", "received:mx.example.org", "received:example.org", "received:org",
        "received:10", "received:10.20", "received:10.20.30", "received:b.example.co.uk", "received:example.co.uk", "received:uk", "received:8.11.6",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "Newsgroups", "Followup-To", "X-Spam-Status", "X-SpamProbe", "X-Bogosity", "X-Nbtext", "X-Gmail-Labels", "List-Id", "Mailing-List", "X-Mailing-List",
        "X-Mailman-Version", "X-BeenThere", "Precedence", "Errors-To", "Path", "Xref", "Delivered-To", "X-Original-To", "Envelope-To", "Status", "X-Status",
        "X-UID", "X-Virus-Scanned", "X-MailScanner", "Date", "Delivery-Date", "Resent-Date", "NNTP-Posting-Date", "Lines", "Content-Length", "Message-ID",
        "Resent-Message-ID", "Article-I.D.", "Thread-Index", "DKIM-Signature", "ARC-Seal", "X-OriginalArrivalTime",
    ],
)  # fmt: skip
def test_excluded_headers_are_not_read(name: str) -> None:
    words, items = extract_fields(headers(f"{name}: word ann@example.org\n\n".encode()), "auto")
    assert (words, items) == ([], b"")


def test_chosen_headers_can_be_fields() -> None:
    assert select_fields(headers(MESSAGE, b"date", b"subject"), [b"date", b"subject"], "auto") == [
        (b"subject", "café".encode()), (b"date", b"Thu, 22 Aug 2002 12:36:23 +0100"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        (b"a.b.example.com", b"example.com"),
        (b"example.com", b"example.com"),
        (b"x.ac.uk", b"x.ac.uk"),
        (b"x.de", b"x.de"),
        (b"localhost", b"localhost"),
    ],
)
def test_registered_domains_are_guessed(host: bytes, domain: bytes) -> None:
    assert guess_registered_domain(host) == domain
