# SPDX-License-Identifier: Apache-2.0
"""A client of the protocol in a few lines, written from its specification (Hurray 1.0, interchange), to
have something that is not Tilery at the other end."""

import socket
import struct

HELLO, SERVER_HELLO, REQUEST, DESCRIPTOR, DATA, END, ERROR = 1, 2, 3, 4, 5, 6, 9


class Peer:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))

    def send(self, kind, stream, payload):
        self.socket.sendall(struct.pack("<III", kind, stream, len(payload)) + payload)

    def exactly(self, count):
        out = b""
        while len(out) < count:
            piece = self.socket.recv(count - len(out))
            if not piece:
                raise EOFError(f"closed after {len(out)} of {count} bytes")
            out += piece
        return out

    def receive(self):
        kind, stream, length = struct.unpack("<III", self.exactly(12))
        return kind, stream, self.exactly(length)

    def hello(self):
        self.send(HELLO, 1, struct.pack("<IIQHHBH", 1, 1 << 24, 0, 0, 1, 0, 0))
        kind, _, payload = self.receive()
        assert kind == SERVER_HELLO, kind
        return struct.unpack_from("<IIQ", payload)

    def request(self, key, stream=2):
        name = key.encode()
        self.send(REQUEST, stream, struct.pack("<I", len(name)) + name
                  + struct.pack("<HBII", 0, 0, 64, 0))

    def fetch(self, key, stream=2):
        """(descriptor, data), or the text of the server's error."""
        self.request(key, stream)
        kind, got, payload = self.receive()
        assert got == stream
        if kind == ERROR:
            code, length = struct.unpack_from("<II", payload)
            return code, payload[8:8 + length].decode()
        assert kind == DESCRIPTOR, kind
        descriptor_len, = struct.unpack_from("<I", payload, 6)
        total, = struct.unpack_from("<Q", payload, descriptor_len)
        data = b""
        while True:
            kind, got, frame = self.receive()
            assert got == stream
            if kind == END:
                assert len(data) == total
                return payload[:descriptor_len], data
            assert kind == DATA, kind
            offset, = struct.unpack_from("<Q", frame)
            assert offset == len(data)
            data += frame[8:]

    def close(self):
        self.socket.close()
