"""Footbridge for CRM integrators: sign and verify webhooks, read and write footers.

One file, Python 3.8 or newer, standard library only. Copy it into your project.

The arithmetic is plain Python: signing takes milliseconds and is not constant-time. On a machine that also runs
untrusted programs, sign with a library that protects the key from timing attacks.
"""

import base64
import hashlib
import json
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

# Signatures

SIGNATURE_HEADERS = {"Ed25519": "X-CRM-Signature", "RSA-SHA256": "X-WH-Signature"}
MIN_RSA_BITS = 2048

Headers = Mapping[str, Union[str, Sequence[str]]]


class Signed(NamedTuple):
    """Send exactly this body with these headers."""

    body: bytes
    headers: Dict[str, str]


class Verified(NamedTuple):
    """`reason` is for your log. Respond to the caller with 401 and no details."""

    ok: bool
    key: Optional[Mapping[str, str]]
    reason: Optional[str]


def sign_webhook(body: Union[str, bytes], private_key: str, header: Optional[str] = None) -> Signed:
    """Signs the exact bytes of a body with a private key: PEM, PKCS#8, unencrypted, Ed25519 or RSA."""
    raw = body.encode("utf-8") if isinstance(body, str) else bytes(body)
    scheme, numbers = _read_key(private_key, "PRIVATE KEY")
    signature = _sign_ed25519(raw, numbers) if scheme == "Ed25519" else _sign_rsa(raw, numbers)
    name = header or SIGNATURE_HEADERS[scheme]
    encoded = base64.b64encode(signature).decode("ascii")
    return Signed(raw, {"Content-Type": "application/json", name: encoded})


def verify_webhook(body: Union[str, bytes], headers: Headers, trusted: Sequence[Mapping[str, str]]) -> Verified:
    """Verifies a signature over the raw bytes, in strict base64, with the header and scheme of each key.

    A trusted key is a mapping with `publicKey` (PEM), `scheme` and, if it is not the default of the scheme, `header`.
    The legacy header X-WH-Signature is used only if every other header is absent.
    """
    raw = body.encode("utf-8") if isinstance(body, str) else bytes(body)
    legacy = SIGNATURE_HEADERS["RSA-SHA256"]
    names = [SIGNATURE_HEADERS["Ed25519"], *[_header_of(key) for key in trusted], legacy]
    names.sort(key=lambda name: name.lower() == legacy.lower())
    name = next((one for one in names if _header_values(headers, one)), None)
    if name is None:
        return Verified(False, None, "the request has no signature header")
    values = _header_values(headers, name)
    signature = _decode_base64(values[0]) if len(values) == 1 else None
    if signature is None:
        return Verified(False, None, "the signature header is not a single value in strict base64")
    for key in trusted:
        if _header_of(key).lower() == name.lower() and _is_signed_by(key, signature, raw):
            return Verified(True, key, None)
    return Verified(False, None, "the signature does not match the body under any trusted key")


def _header_of(key: Mapping[str, str]) -> str:
    return key.get("header") or SIGNATURE_HEADERS[key["scheme"]]


def _header_values(headers: Headers, name: str) -> List[str]:
    values: List[str] = []
    for key, value in headers.items():
        if key.lower() == name.lower():
            values.extend([value] if isinstance(value, str) else value)
    return values


def _is_signed_by(key: Mapping[str, str], signature: bytes, body: bytes) -> bool:
    scheme, numbers = _read_key(key["publicKey"], "PUBLIC KEY")
    if scheme != key["scheme"]:
        raise ValueError("A trusted key has scheme %s, but its type is %s." % (key["scheme"], scheme))
    return _verify_ed25519(body, signature, numbers) if scheme == "Ed25519" else _verify_rsa(body, signature, numbers)


def _decode_base64(text: str) -> Optional[bytes]:
    """Decodes base64. Returns None unless the text is the canonical encoding."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if base64.b64encode(raw).decode("ascii") == text else None


# Keys

_ED25519_OID = bytes.fromhex("2b6570")
_RSA_OID = bytes.fromhex("2a864886f70d010101")


def _read_key(pem: str, label: str) -> Tuple[str, Any]:
    """Returns the scheme and the key material: the 32 bytes of Ed25519, or the integers of RSA."""
    text = pem.replace("\\n", "\n").strip()
    begin, end = "-----BEGIN %s-----" % label, "-----END %s-----" % label
    der = None
    if text.startswith(begin) and text.endswith(end):
        der = _decode_base64("".join(text[len(begin) : -len(end)].split()))
    if der is None:
        raise ValueError("This is not a %s in PEM format. It must start with %s." % (label.lower(), begin))
    try:
        fields = _der_items(_der_items(der)[0][1])
        if label == "PRIVATE KEY":
            fields = fields[1:]
        oid = _der_items(fields[0][1])[0][1]
        content = fields[1][1]
        if oid == _ED25519_OID:
            secret = _der_items(content)[0][1] if label == "PRIVATE KEY" else content[1:]
            if len(secret) != 32:
                raise IndexError
            return "Ed25519", secret
        if oid == _RSA_OID:
            integers = _der_items(content if label == "PRIVATE KEY" else content[1:])[0][1]
            numbers = [int.from_bytes(value, "big") for _, value in _der_items(integers)]
            n, e, d = (numbers[1], numbers[2], numbers[3]) if label == "PRIVATE KEY" else (*numbers[:2], 0)
            if n.bit_length() < MIN_RSA_BITS:
                raise ValueError("An RSA key must have at least %d bits. Prefer Ed25519." % MIN_RSA_BITS)
            return "RSA-SHA256", (n, e, d)
    except IndexError:
        raise ValueError("The PEM does not contain a usable key. Check that it was copied completely.") from None
    raise ValueError("The key is neither Ed25519 nor RSA. The bridge supports only these two types.")


def _der_items(data: bytes) -> List[Tuple[int, bytes]]:
    """Returns the tags and values of consecutive DER items. Raises IndexError if the data is truncated."""
    items = []
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[at : at + size], "big")
            at += size
        if at + length > len(data):
            raise IndexError
        items.append((tag, data[at : at + length]))
        at += length
    return items


# RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017)

_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def _padded(body: bytes, size: int) -> bytes:
    digest = _SHA256_PREFIX + hashlib.sha256(body).digest()
    return b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest


def _sign_rsa(body: bytes, numbers: Tuple[int, int, int]) -> bytes:
    n, _, d = numbers
    size = (n.bit_length() + 7) // 8
    return pow(int.from_bytes(_padded(body, size), "big"), d, n).to_bytes(size, "big")


def _verify_rsa(body: bytes, signature: bytes, numbers: Tuple[int, int, int]) -> bool:
    n, e, _ = numbers
    size = (n.bit_length() + 7) // 8
    value = int.from_bytes(signature, "big")
    if len(signature) != size or value >= n:
        return False
    return pow(value, e, n).to_bytes(size, "big") == _padded(body, size)


# Ed25519 (RFC 8032)

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)

Point = Tuple[int, int, int, int]


def _add(a: Point, b: Point) -> Point:
    c = (a[1] - a[0]) * (b[1] - b[0]) % _P
    d = (a[1] + a[0]) * (b[1] + b[0]) % _P
    e = 2 * a[3] * b[3] * _D % _P
    f = 2 * a[2] * b[2] % _P
    g, h, i, j = d - c, f - e, f + e, d + c
    return (g * h % _P, i * j % _P, h * i % _P, g * j % _P)


def _multiply(factor: int, point: Point) -> Point:
    result = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            result = _add(result, point)
        point = _add(point, point)
        factor >>= 1
    return result


def _is_same(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % _P == 0 and (a[1] * b[2] - b[1] * a[2]) % _P == 0


def _encoded(point: Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decoded(data: bytes) -> Optional[Point]:
    y = int.from_bytes(data, "little")
    sign = y >> 255
    y &= (1 << 255) - 1
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _ROOT % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


_BASE = _decoded((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))


def _hash(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % _L


def _sign_ed25519(body: bytes, seed: bytes) -> bytes:
    digest = hashlib.sha512(seed).digest()
    secret = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | (1 << 254)
    public = _encoded(_multiply(secret, _BASE))
    nonce = _hash(digest[32:], body)
    commitment = _encoded(_multiply(nonce, _BASE))
    answer = (nonce + _hash(commitment, public, body) * secret) % _L
    return commitment + answer.to_bytes(32, "little")


def _verify_ed25519(body: bytes, signature: bytes, public: bytes) -> bool:
    if len(signature) != 64:
        return False
    key, commitment = _decoded(public), _decoded(signature[:32])
    answer = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or answer >= _L:
        return False
    challenge = _hash(signature[:32], public, body)
    return _is_same(_multiply(answer, _BASE), _add(commitment, _multiply(challenge, key)))


# Footers

VERSION = "1"


class Footer(NamedTuple):
    """`text` is the message without its footer. `problem` says why a footer is unreadable."""

    text: str
    metadata: Optional[Dict[str, Any]]
    form: Optional[str] = None
    problem: Optional[str] = None


_CLOSING = "-- end svc-metadata --"
_OPENING = "-- svc-metadata:v"
_OPENING_END = " --"
_NAME = "svc-metadata"
_SENTINEL = "[[SVMD:"
_SENTINEL_END = "]]"
# White space as JavaScript defines it, which differs from Python's definition.
_SPACES = "\t\n\x0b\x0c\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_LEADING_DASHES = re.compile("(?:--|[–—])[-–— \t]{0,8}")
_JOINED = re.compile("[^%s]{1,16}[%s]{1,8}--[%s]{0,8}\\{" % (_SPACES, _SPACES, _SPACES))
_JOINED_REACH = 40


class _Part(NamedTuple):
    """A footer, or a fragment of one, which has a problem. A fragment that closes follows the rest of its footer."""

    start: int
    end: int = 0
    form: str = ""
    version: str = ""
    payload: str = ""
    problem: Optional[str] = None
    closes: bool = False


class _Line(NamedTuple):
    start: int
    next: int
    raw: str
    text: str


def parse_footer(message: str) -> Footer:
    """Returns the text of a message and the metadata of its footer. Never raises for any string."""
    parts = _find_parts(message)
    last = max((i for i, part in enumerate(parts) if part.problem is None and part.version == VERSION), default=-1)
    problem = next((part.problem for part in parts[last + 1 :] if part.problem is not None), None)
    if problem is not None:
        return _without_metadata(_readable_text(message, parts), problem)
    if last < 0:
        return _without_metadata(_cut(message, parts), None)
    footer = parts[last]
    metadata, problem, is_merged = _read_payload(footer)
    if problem is not None:
        return _without_metadata(_readable_text(message, parts), problem)
    first = _start_of_run(message, parts, last) if is_merged else last
    return Footer(_cut(message, [part for part in parts[first:] if part.problem is None]), metadata, footer.form)


def strip_footer(message: str) -> str:
    """Returns the message without its footer."""
    return parse_footer(message).text


def make_footer(metadata: Mapping[str, Any], text: str = "", form: str = "block") -> str:
    """Returns a message with a footer. `parse_footer` returns the same text and metadata, whatever the text contains."""
    payload = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    message = _append(text, payload, form)
    return message if strip_footer(message) == text else _append(text, " " + payload, form)


def _append(text: str, payload: str, form: str) -> str:
    if form == "block":
        footer = "%s%s%s\n%s\n%s" % (_OPENING, VERSION, _OPENING_END, payload, _CLOSING)
    else:
        encoded = base64.b64encode(payload.encode("utf-8")).decode("ascii")
        footer = "%sv%s:%s%s" % (_SENTINEL, VERSION, encoded, _SENTINEL_END)
    # A text that ends in \r needs a complete \r\n, since the parser removes one line break.
    separator = "" if text == "" else "\r\n" if text.endswith("\r") else "\n"
    return text + separator + footer


def _find_parts(message: str) -> List[_Part]:
    parts: List[_Part] = []
    opened: Optional[Tuple[_Line, str, int]] = None
    for line in _lines(message):
        version = _opened_version(line.text)
        if version is not None:
            opened = (line, version, len(parts))
            parts.append(_Part(line.start, problem="the footer is never closed"))
        elif opened is not None and line.text == _CLOSING:
            opening, version, index = opened
            # The block replaces the fragment of its opening line and any parts found in its payload.
            del parts[index:]
            payload = message[opening.next : line.start]
            parts.append(_Part(opening.start, line.next, "block", version, payload))
            opened = None
        else:
            parts.extend(_parts_within(message, line))
    tail = _truncated_start(message)
    return parts if tail is None else [*parts, tail]


def _lines(message: str) -> List[_Line]:
    """Returns the lines that contain a delimiter of a footer."""
    lines = []
    start = 0
    for raw in message.split("\n"):
        after = min(start + len(raw) + 1, len(message))
        if _NAME in raw or _SENTINEL in raw:
            lines.append(_Line(start, after, raw, raw.strip(_SPACES)))
        start += len(raw) + 1
    return lines


def _opened_version(line: str) -> Optional[str]:
    if not line.startswith(_OPENING) or not line.endswith(_OPENING_END):
        return None
    version = line[len(_OPENING) : -len(_OPENING_END)]
    return None if version == "" or any(letter in _SPACES for letter in version) else version


def _parts_within(message: str, line: _Line) -> List[_Part]:
    parts = _sentinels_within(line) if _SENTINEL in line.text else []
    fragment = _fragment_within(message, line) if _NAME in line.text else None
    return sorted([*parts, fragment], key=lambda part: part.start) if fragment else parts


def _sentinels_within(line: _Line) -> List[_Part]:
    parts = []
    before, *candidates = line.raw.split(_SENTINEL)
    start = line.start + len(before)
    for candidate in candidates:
        close, colon = candidate.find(_SENTINEL_END), candidate.find(":")
        if candidate.startswith("v") and 1 < colon < close:
            length = len(_SENTINEL) + close + len(_SENTINEL_END)
            is_own_line = len(line.text) == length
            place = (line.start, line.next) if is_own_line else (start, start + length)
            parts.append(_Part(*place, "sentinel", candidate[1:colon], candidate[colon + 1 : close]))
        else:
            parts.append(_Part(start, problem="the sentinel of the footer is incomplete"))
        start += len(_SENTINEL) + len(candidate)
    return parts


def _fragment_within(message: str, line: _Line) -> Optional[_Part]:
    dashes = _LEADING_DASHES.match(line.text)
    rest = line.text[dashes.end() :] if dashes else ""
    if rest.startswith(_NAME):
        return _Part(line.start, problem="the opening line of the footer is incomplete")
    if rest.startswith("end " + _NAME):
        return _Part(line.start, problem="the footer is closed but was never opened", closes=True)
    at = line.raw.find(_OPENING)
    while at >= 0:
        version = line.start + at + len(_OPENING)
        if _JOINED.match(message[version : version + _JOINED_REACH]):
            return _Part(line.start + at, problem="the line breaks of the footer were removed")
        at = line.raw.find(_OPENING, at + 1)
    return None


def _truncated_start(message: str) -> Optional[_Part]:
    problem = "the message ends within the opening delimiter of a footer"
    line = message[message.rfind("\n") + 1 :]
    opening = line.strip(_SPACES)
    if len(opening) >= len("-- svc-") and _OPENING.startswith(opening) and _NAME not in opening:
        return _Part(len(message) - len(line), problem=problem)
    for length in range(len(_SENTINEL) - 1, len("[[SV") - 1, -1):
        if message.endswith(_SENTINEL[:length]):
            return _Part(len(message) - length, problem=problem)
    return None


def _read_payload(footer: _Part) -> Tuple[Optional[Dict[str, Any]], Optional[str], bool]:
    payload: Optional[str] = footer.payload
    if footer.form == "sentinel":
        payload = _decode_utf8(footer.payload)
    if payload is None:
        return None, "the sentinel of the footer is not base64 of UTF-8", True
    try:
        value = json.loads(payload, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None, "the footer is not valid JSON", True
    if not isinstance(value, dict):
        return None, "the footer is not a JSON object", True
    return value, None, not payload.startswith(" {")


def _reject_constant(name: str) -> None:
    raise ValueError(name)


def _decode_utf8(encoded: str) -> Optional[str]:
    raw = _decode_base64(encoded)
    try:
        return None if raw is None else raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _start_of_run(message: str, parts: List[_Part], last: int) -> int:
    """Returns the index of the first footer in the run of adjacent footers that ends at `last`."""
    first = last
    while first > 0:
        before = parts[first - 1]
        if before.problem is not None or message[before.end : parts[first].start].strip(_SPACES) != "":
            break
        first -= 1
    return first


def _without_metadata(text: str, problem: Optional[str]) -> Footer:
    """Removing a footer can join two halves of another one, so the remaining text is checked again."""
    remaining = _find_parts(text)
    if remaining:
        problem = problem or "the message contains overlapping footers"
        return Footer(text[: remaining[0].start], None, None, problem)
    return Footer(text, None, None, problem)


def _cut(message: str, footers: List[_Part]) -> str:
    """At the end of a message, the line break before the footer and blank lines after it are removed too."""
    if not footers:
        return message
    text = ""
    at = 0
    for index, footer in enumerate(footers):
        between = message[at : footer.start]
        if index == 0 or between.strip(_SPACES) != "":
            text += between
        at = footer.end
    rest = message[at:]
    return _without_line_break(text) if rest.strip(_SPACES) == "" else text + rest


def _without_line_break(text: str) -> str:
    if text.endswith("\r\n"):
        return text[:-2]
    return text[:-1] if text.endswith("\n") else text


def _readable_text(message: str, parts: List[_Part]) -> str:
    """Returns the text that is safe to show: without footers, and only up to the first fragment."""
    index = next((i for i, part in enumerate(parts) if part.problem is not None), None)
    if index is None:
        return _cut(message, parts)
    fragment = parts[index]
    before = message[: fragment.start]
    # The second half of a split message: everything before the closing line is the rest of the JSON.
    if fragment.closes and before.rstrip(_SPACES).endswith("}"):
        return ""
    return _without_line_break(_cut(before, parts[:index]))
