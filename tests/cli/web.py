# SPDX-License-Identifier: Apache-2.0
"""HTTP on Unix sockets, as the metrics speak it."""

import socket


def http(path, request):
    """What an HTTP server on a Unix socket answers: (status line, body)."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(str(path))
        s.sendall(request)
        out = b""
        while more := s.recv(65536):
            out += more
    head, _, body = out.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), body.decode()


def get(path, what):
    return http(path, f"GET {what} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
