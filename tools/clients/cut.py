"""Passes requests on to the member at sys.argv[1], and ends each answer after a second: a feed of events has no end of
its own. It prints its address when it listens."""

import http.client
import http.server
import sys
import time

SECONDS = 1.0
HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection"}


class Cut(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # the end of an answer is that of its connection

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.pass_on
        raise AttributeError(name)

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        member = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"), timeout=60)
        member.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP:
                member.putheader(name, sys.argv[1].removeprefix("http://") if name.lower() == "host" else value)
        member.endheaders(body or None)
        answer = member.getresponse()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.end_headers()
        end = time.monotonic() + SECONDS
        while (left := end - time.monotonic()) > 0:
            if member.sock:
                member.sock.settimeout(left)
            try:
                part = answer.read1(65536)
            except TimeoutError:
                break
            if not part:
                break
            self.wfile.write(part)
        member.close()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cut)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
