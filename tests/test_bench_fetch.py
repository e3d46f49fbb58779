"""Fetching what a stranger's list names: never from this machine or a private network, and never for long."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest
from bench_sets import make_visogender
from samples import png

from backend.bench_plan import chosen_task, load
from backend.benchmarks import Data, fetch
from backend.benchmarks.fetch import PRIVATE, SLOW, fetcher, is_public
from backend.benchmarks.tasks import read_tasks


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def log_message(self, *arguments):
        """Quiet."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in ("/headers", "/body"):
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"\r\n" * (self.path == "/body"))
            try:
                while not self.server.over.wait(0.02):
                    self.wfile.write(b"X-A: b\r\n")
            except OSError:
                pass
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(png(1))))
            self.end_headers()
            self.wfile.write(png(1))


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.connections, made.over, made.daemon_threads = [], 0, threading.Event(), True
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.over.set()
    made.shutdown()
    made.server_close()


def loopback(address):
    return address == "127.0.0.1"


HOSTS = (
    *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "2130706433", "0x7f.1", "127.1", "0"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
    *("10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "169.254.169.254", "100.64.0.1", "240.0.0.1"),
    *("[fe80::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "224.0.0.1", "[::ffff:224.0.0.1]", "me:too@127.0.0.1"),
)


def test_no_way_of_writing_leads_to_this_machine_or_a_private_network(server, tmp_path, monkeypatch):
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
    get, port = fetcher(), server.server_port
    found = {host: get(f"http://{host}:{port}/x.png", tmp_path / "x.png") for host in HOSTS}
    assert found == dict.fromkeys(HOSTS, PRIVATE) and server.asked == [] and not (tmp_path / "x.png").exists()
    assert get(f"https://127.0.0.1:{port}/x.png", tmp_path / "x.png") == PRIVATE
    for address in ("http://", "http://127.0.0.1:99999/", "http://a..b/", "ftp://127.0.0.1/", "http://\ud800/", "//x"):
        assert get(address, tmp_path / "x.png")
    assert fetcher(allow=loopback)(f"http://127.0.0.1:{port}/x.png", tmp_path / "x.png") == ""
    assert (tmp_path / "x.png").read_bytes() == png(1) and server.asked == ["/x.png"]


def test_a_redirect_and_a_name_lead_nowhere_else(server, tmp_path, monkeypatch):
    get, port = fetcher(allow=loopback), server.server_port
    root = f"http://127.0.0.1:{port}"
    assert get(f"{root}/to/{root}/x.png", tmp_path / "1.png") == "" and server.connections == 2
    for place in (f"http://127.0.0.2:{port}/admin", f"http://[::1]:{port}/admin", f"//0.0.0.0:{port}/admin"):
        assert get(f"{root}/to/{place}", tmp_path / "2.png") == PRIVATE
    assert get(f"{root}/to/file:///etc/passwd", tmp_path / "2.png")
    assert get(f"{root}/to/{root}/to/{root}/to/{root}/to/{root}/to/{root}/to/{root}/x.png", tmp_path / "2.png")
    assert not any("admin" in path for path in server.asked if not path.startswith("/to/"))
    real, asked = socket.getaddrinfo, []

    def rebinding(host, *arguments, **options):
        """A name that is public when it is looked at first, and this machine ever after."""
        if host != "pictures.example":
            return real(host, *arguments, **options)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (("192.0.2.1", "127.0.0.1")[len(asked) > 1], port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    connected = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address) or refuse())
    assert fetcher(allow=lambda address: address == "192.0.2.1")(
        f"http://pictures.example:{port}/x.png", tmp_path / "3"
    )
    assert connected == [("192.0.2.1", port)] and asked == ["pictures.example"]
    assert fetcher(allow=lambda address: address == "192.0.2.1")("http://pictures.example/", tmp_path / "3") == PRIVATE


def refuse():
    raise ConnectionRefusedError(111, "Connection refused")


def test_one_private_address_of_a_name_is_enough_to_refuse_it(tmp_path, monkeypatch):
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("93.184.216.34", "10.1.2.3")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **options: both)
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: pytest.fail("it was connected"))
    assert fetcher()("http://two.example/x.png", tmp_path / "x") == PRIVATE


def test_is_public_is_no_looser_than_the_library_and_stricter_where_that_is_loose():
    for text in ("1.1.1.1", "151.101.1.69", "2606:4700:4700::1111", "64:ff9b::808:808", "2002:808:808::1"):
        assert is_public(text)
    loose = ("224.0.0.1", "ff0e::1", "fec0::1", "::7f00:1", "64:ff9b::a00:1", "2002:c0a8:101::1", "4000::1")
    assert all(ip_address(text).is_global and not is_public(text) for text in loose)


@pytest.mark.parametrize("path", ["/headers", "/body"])
def test_an_answer_that_comes_byte_by_byte_ends(server, tmp_path, monkeypatch, path):
    monkeypatch.setattr(fetch, "MOST_SECONDS", 0.3)
    began = time.monotonic()
    assert fetcher(allow=loopback)(f"http://127.0.0.1:{server.server_port}{path}", tmp_path / "x") == SLOW
    assert time.monotonic() - began < 5


def test_a_list_of_such_addresses_is_counted_in_words(tmp_path, server):
    folder = make_visogender(tmp_path / "oo")
    table = folder / "visogender_1.tsv"
    for name in ("OO_1", "OO_2"):
        (folder / "images" / f"{name}.jpg").unlink()
    local = f"http://localhost:{server.server_port}/"
    table.write_text(table.read_text().replace("https://pictures.invalid/", local))
    found = load(chosen_task(read_tasks(), "visogender-oo"), Data(folder, fetch=fetcher()))
    assert len(found.items) == 4 and server.asked == []
    assert Counter({reason: n for reason, n in found.left_out.items() if PRIVATE in reason}).total() == 3


def test_what_cannot_be_kept_leaves_nothing_behind(tmp_path):
    (tmp_path / "images" / "0.jpg" / "in").mkdir(parents=True)
    with pytest.raises(OSError):
        fetch._keep(png(), tmp_path / "images" / "0.jpg")
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["0.jpg"]
