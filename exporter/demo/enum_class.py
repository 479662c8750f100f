"""A Java enum as the bytes of a class file, for a JVM that has no compiler.

Kafka >= 4.3.1 has MBean attributes whose value is an enum of Kafka's own; a client without Kafka's JARs cannot read
them. The demo shows the same, so it needs that class in its JVM, and in no other.
"""

from __future__ import annotations

import struct
from pathlib import Path

# Tags, flags and opcodes: The Java Virtual Machine Specification, chapters 4 and 6.
_UTF8, _CLASS, _METHOD_REF, _NAME_AND_TYPE = 1, 7, 10, 12
_PUBLIC, _FINAL, _SUPER, _ENUM = 0x0001, 0x0010, 0x0020, 0x4000
_JAVA_8 = 52
_CONSTRUCTOR = bytes.fromhex("2a 2b 1c b7 00 07 b1")
"""aload_0, aload_1, iload_2, invokespecial #7 (Enum.<init>), return."""


def enum_class(name: str) -> bytes:
    """The class file of a public enum whose constants are made with `new NAME(constant, ordinal)`.

    Args:
        name: the full name of the class, with dots.
    """
    pool = [
        _utf8(name.replace(".", "/")),  # 1
        struct.pack(">BH", _CLASS, 1),  # 2: this class
        _utf8("java/lang/Enum"),  # 3
        struct.pack(">BH", _CLASS, 3),  # 4: its super class
        _utf8("<init>"),  # 5
        _utf8("(Ljava/lang/String;I)V"),  # 6
        struct.pack(">BHH", _METHOD_REF, 4, 8),  # 7: Enum.<init>
        struct.pack(">BHH", _NAME_AND_TYPE, 5, 6),  # 8
        _utf8("Code"),  # 9
    ]
    code = struct.pack(">HHI", 3, 3, len(_CONSTRUCTOR)) + _CONSTRUCTOR + struct.pack(">HH", 0, 0)
    constructor = struct.pack(">HHHH", _PUBLIC, 5, 6, 1) + struct.pack(">HI", 9, len(code)) + code
    return (
        struct.pack(">IHHH", 0xCAFEBABE, 0, _JAVA_8, len(pool) + 1)
        + b"".join(pool)
        + struct.pack(">HHH", _PUBLIC | _FINAL | _SUPER | _ENUM, 2, 4)
        + struct.pack(">HH", 0, 0)  # no interfaces, no fields
        + struct.pack(">H", 1)
        + constructor
        + struct.pack(">H", 0)  # no attributes
    )


def write_enum_class(class_path: Path, name: str) -> None:
    """Put that class file where a JVM with this class path finds it.

    Raises:
        OSError: the directory cannot be written.
    """
    file = class_path.joinpath(*name.split(".")).with_suffix(".class")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(enum_class(name))


def _utf8(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">BH", _UTF8, len(encoded)) + encoded
