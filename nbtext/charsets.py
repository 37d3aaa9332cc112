"""Find the Python codec for a charset label that a web page or a message declares."""

from __future__ import annotations

import codecs
from functools import lru_cache

_TABLE = """
utf-8           unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
cp866           866 cp866 csibm866 ibm866
iso8859-2       csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2
iso8859-2       latin2
iso8859-3       csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3
iso8859-3       latin3
iso8859-4       csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4
iso8859-4       latin4
iso8859-5       csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5
iso8859-5       iso_8859-5:1988
iso8859-6       arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6
iso8859-6       iso-8859-6-e iso-8859-6-i iso-ir-127
iso8859-6       iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso8859-7       csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7
iso8859-7       iso88597 iso_8859-7 iso_8859-7:1987
iso8859-7       sun_eu_greek
iso8859-8       csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8
iso8859-8       iso88598 iso_8859-8 iso_8859-8:1988
iso8859-8       visual csiso88598i iso-8859-8-i logical
iso8859-10      csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso8859-13      iso-8859-13 iso8859-13 iso885913
iso8859-14      iso-8859-14 iso8859-14 iso885914
iso8859-15      csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9
iso8859-16      iso-8859-16
koi8-r          cskoi8r koi koi8 koi8-r koi8_r
koi8-u          koi8-ru koi8-u
mac-roman       csmacintosh mac macintosh x-mac-roman
cp874           dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874
cp1250          cp1250 windows-1250 x-cp1250
cp1251          cp1251 windows-1251 x-cp1251
cp1252          ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100
cp1252          iso8859-1 iso88591 iso_8859-1
cp1252          iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined
cp1253          cp1253 windows-1253 x-cp1253
cp1254          cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9
cp1254          iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254
cp1255          cp1255 windows-1255 x-cp1255
cp1256          cp1256 windows-1256 x-cp1256
cp1257          cp1257 windows-1257 x-cp1257
cp1258          cp1258 windows-1258 x-cp1258
mac-cyrillic    x-mac-cyrillic x-mac-ukrainian
gb18030         chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk
gb18030         gb18030
big5hkscs       big5 big5-hkscs cn-big5 csbig5 x-x-big5
euc_jis_2004    cseucpkdfmtjapanese euc-jp x-euc-jp
iso2022_jp_ext  csiso2022jp iso-2022-jp
cp932           csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis
cp949           cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989
cp949           ksc5601 ksc_5601 windows-949
utf-16-be       unicodefffe utf-16be
utf-16          csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le
"""
"""Lines of a Python codec and the labels that select it, from the WHATWG Encoding Standard.

Browsers and mail programs follow this standard.

- The codec of a label is the Python codec that reads most of the texts with this label: the
  vendors' supersets of gb2312, shift_jis and euc-kr, and JIS X 0213 for euc-jp, because it has the
  circled digits. The standard's big5 includes the characters of Hong Kong, so its codec is
  big5hkscs, not cp950.
- utf-16 without a byte order mark is little-endian. With a mark, the codec follows the mark.
- x-user-defined is read as HTML requires.
- The standard rejects iso-2022-kr, hz-gb-2312 and utf-7 because of attacks on browsers. Old mail
  uses them, so Python's codecs read them.
"""


def _parse_table() -> dict[str, str]:
    """Return the codec of each label. Hyphens replace underscores in labels."""
    codecs_by_label = {}
    for line in _TABLE.strip().splitlines():
        codec, *labels = line.split()
        for label in labels:
            codecs_by_label[label.replace("_", "-")] = codec
    return codecs_by_label


_CODECS = _parse_table()

_NOT_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape")
"""Python codecs that are not charsets of texts. Punycode takes quadratic time."""

_C1_CONTROLS = range(0x80, 0xA0)

UNDEFINED_AS_CONTROLS = "nbtext.undefined_as_controls"
"""Name of an error handler for decoding, which is strict except for bytes of `_C1_CONTROLS`.

If a charset of Windows leaves such a byte undefined, the byte becomes the control character with
the same number.
"""


@lru_cache(1 << 8)
def find_codec(label: str) -> str | None:
    """Return the name of the codec of a charset label, or None if the label is unknown.

    A label that is not in the table is the name of a Python codec.

    >>> find_codec("GB2312"), find_codec("latin-1"), find_codec("cp850"), find_codec("base64")
    ('gb18030', 'cp1252', 'cp850', None)
    """
    name = label.strip(" \t\r\n\f'\"").lower().replace("_", "-")
    try:
        python_name = codecs.lookup(_CODECS.get(name, name)).name
        # a label may be Python's alias of a name in the table, such as latin-1 of iso8859-1
        codec = codecs.lookup(_CODECS.get(python_name.replace("_", "-"), python_name)).name
        b"a".decode(codec, "ignore")  # raises for codecs that are not of text, such as base64
    except (LookupError, ValueError):  # ValueError: the name contains a zero byte
        return None
    return None if codec in _NOT_CHARSETS else codec


def _decode_as_control(error: UnicodeError) -> tuple[str, int]:
    """Return the control character of an undefined byte, and the position after it.

    This is an error handler for `codecs`.
    """
    if isinstance(error, UnicodeDecodeError) and error.encoding == "charmap":
        byte = error.object[error.start]
        if byte in _C1_CONTROLS:
            return chr(byte), error.start + 1
    raise error


codecs.register_error(UNDEFINED_AS_CONTROLS, _decode_as_control)
