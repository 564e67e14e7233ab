"""Certificates for servers of tests, signed with a key made for them: nothing here may protect anything."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

_BITS = 2048  # fewer are refused by the TLS libraries of today
_EXPONENT = 65537

INTEGER, BITS, OCTETS, NULL, OID, UTF8, UTC_TIME, TIME = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0C, 0x17, 0x18
SEQUENCE, SET = 0x30, 0x31
_RSA, _SHA256_WITH_RSA = bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2a864886f70d01010b")
_SHA256 = bytes.fromhex("608648016503040201")
_COMMON_NAME, _OTHER_NAMES = bytes.fromhex("550403"), bytes.fromhex("551d11")


def der(tag: int, *parts: bytes) -> bytes:
    """Return one element of DER that holds `parts`."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def whole(number: int) -> bytes:
    """Return a whole number that is not negative."""
    return der(INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def pem(label: str, content: bytes) -> str:
    """Return DER in its printable form."""
    return f"-----BEGIN {label}-----\n{base64.encodebytes(content).decode()}-----END {label}-----\n"


class Authority:
    """A key, and certificates that it signs for itself: who trusts one of them trusts its server."""

    def __init__(self) -> None:
        chance = random.Random(2048)  # the same key each time
        p, q = _prime(chance), _prime(chance)
        self._n = p * q
        self._d = pow(_EXPONENT, -1, (p - 1) * (q - 1))
        crt = (p, q, self._d % (p - 1), self._d % (q - 1), pow(q, -1, p))
        self._key = der(SEQUENCE, *map(whole, (0, self._n, _EXPONENT, self._d, *crt)))

    def issue(self, folder: Path, names: Sequence[str], *, begins: datetime, ends: datetime) -> Path:
        """Write a certificate for these host names and addresses, with its key, and return the file."""
        file = folder / f"{names[0]}.pem"
        certificate = self.certificate(names, begins=begins, ends=ends)
        file.write_text(pem("RSA PRIVATE KEY", self._key) + pem("CERTIFICATE", certificate))
        return file

    def certificate(self, names: Sequence[str], *, begins: datetime, ends: datetime) -> bytes:
        """Return a certificate in DER; both times are in UTC."""
        signed_with = der(SEQUENCE, der(OID, _SHA256_WITH_RSA), der(NULL))
        name = der(SEQUENCE, der(SET, der(SEQUENCE, der(OID, _COMMON_NAME), der(UTF8, names[0].encode()))))
        key = der(SEQUENCE, whole(self._n), whole(_EXPONENT))
        others = der(SEQUENCE, *map(_other_name, names))
        told = der(
            SEQUENCE,
            der(0xA0, whole(2)),
            whole(1),
            signed_with,
            name,
            der(SEQUENCE, _time(begins), _time(ends)),
            name,
            der(SEQUENCE, der(SEQUENCE, der(OID, _RSA), der(NULL)), der(BITS, b"\0", key)),
            der(0xA3, der(SEQUENCE, der(SEQUENCE, der(OID, _OTHER_NAMES), der(OCTETS, others)))),
        )
        return der(SEQUENCE, told, signed_with, der(BITS, b"\0", self._signature(told)))

    def _signature(self, told: bytes) -> bytes:
        algorithm = der(SEQUENCE, der(OID, _SHA256), der(NULL))
        digest = der(SEQUENCE, algorithm, der(OCTETS, hashlib.sha256(told).digest()))
        size = _BITS // 8
        padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
        return pow(int.from_bytes(padded), self._d, self._n).to_bytes(size)


def _other_name(name: str) -> bytes:
    try:
        return der(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        return der(0x82, name.encode())


def _time(when: datetime) -> bytes:
    if when.year < 2050:
        return der(UTC_TIME, when.strftime("%y%m%d%H%M%SZ").encode())
    return der(TIME, when.strftime("%Y%m%d%H%M%SZ").encode())


def _prime(chance: random.Random) -> int:
    half = _BITS // 2
    while True:
        number = chance.getrandbits(half) | 3 << (half - 2) | 1
        if all(number % small for small in range(3, 2000, 2)) and _is_prime(number, chance):
            return number


def _is_prime(number: int, chance: random.Random) -> bool:
    """Try it the way of Miller and Rabin; to be wrong is less likely than a broken machine."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(20):
        power = pow(chance.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = pow(power, 2, number)
            if power == number - 1:
                break
        else:
            return False
    return True
