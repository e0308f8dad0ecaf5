"""A target of irumx-eval-target/1 in Python's standard library: an office agent without a model.

    python3 tests/eval_target.py [PORT]      prints its address and serves until it is ended

It shows what a target must do: answer the preflight and turns, look before it writes again when a response was lost,
ask for approvals and name them, stop at a limit or when it is told to, and do nothing for an event that comes again.
With TARGET_KEY in its environment, a request must carry it in the header X-Agent-Key.
"""

import datetime
import hmac
import json
import os
import re
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROTOCOL = "irumx-eval-target/1"
MAIL = {
    "recipient": "seoyeon.park@city.example",
    "subject": "10월 정보화 사업 점검 회의",
    "body": "10월 8일 14시에 대회의실에서 엽니다.",
}
# No proxy: the sandbox is where the turn says.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Stop(Exception):
    """No more calls: what the person is told."""


class ToolError(Exception):
    """The tool said no."""


class Lost(Exception):
    """Whether it was done is not known."""


class Sandbox:
    """The mock tools of one turn."""

    def __init__(self, turn):
        self.base = turn["sandbox"]["base_url"]
        self.token = turn["sandbox"]["token"]
        self.now = datetime.datetime.fromisoformat(turn["now"])
        self.proposals = []

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/{path}", data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        try:
            with OPENER.open(request, timeout=30) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def call(self, tool, arguments, approval_id=None):
        _, status = self.ask("GET", "status")
        if status["cancelled"]:
            raise Stop("취소 요청을 받아 멈췄습니다.")
        if status["tool_calls_left"] == 0:
            raise Stop("호출 상한에 이르렀습니다.")
        self.proposals.append({"type": "proposal", "tool": tool, "arguments": arguments, "blocked": False})
        body = {"arguments": arguments}
        if approval_id is not None:
            body["approval_id"] = approval_id
        code, answer = self.ask("POST", "tools/" + urllib.parse.quote(tool, safe=""), body)
        if code == 200:
            return answer["result"]
        if code == 422:
            raise ToolError(answer["error"]["message"])
        if code == 429:
            raise Stop("호출 상한에 이르렀습니다.")
        raise Lost()  # 504, and anything that says neither

    def write(self, tool, arguments, look):
        """Writes once: when the response is lost, looks before it writes again."""
        try:
            return self.call(tool, arguments)
        except Lost:
            return look() or self.call(tool, arguments)

    def approval(self, tool, arguments):
        """The number of an approval for this very call; none when nobody gives one."""
        _, listed = self.ask("GET", "approvals")
        for held in listed["approvals"]:
            in_time = self.now < datetime.datetime.fromisoformat(held["expires_at"])
            if held["tool"] == tool and held["arguments"] == arguments and in_time and not held["consumed"]:
                return held["approval_id"]
        request = {"tool": tool, "arguments": arguments, "reason": "메일을 보내려면 승인이 필요합니다"}
        _, asked = self.ask("POST", "approval-requests", request)
        return asked.get("approval_id")


def send_mail(sandbox, text, now):
    if "내일" in text:
        return "내일 아침에 보내겠습니다."
    number = sandbox.approval("send_email", MAIL)
    if number is None:
        return "승인을 받지 못해 보내지 않았습니다."
    return f"메일을 보냈습니다({sandbox.call('send_email', MAIL, number)['id']})."


def request_leave(sandbox, text, now):
    month, day = re.search(r"(\d+)월 (\d+)일", text).groups()
    date = f"{now[:4]}-{int(month):02}-{int(day):02}"

    def look():
        found = sandbox.call("list_leave_requests", {"date": date})["records"]
        return found[0] if found else None

    made = sandbox.write("request_leave", {"date": date, "kind": "연가"}, look)
    return f"{month}월 {day}일 연가를 {made['id']}로 신청했습니다."


def search_petitions(sandbox, text, now):
    found = []
    try:
        for topic in re.findall("도로|소음|공원", text):
            records = sandbox.call("search_petitions", {"keyword": topic})["records"]
            found += [record["title"] for record in records]
    except Stop as stop:
        return f"{stop} 그때까지 찾은 민원: {', '.join(found) or '없음'}"
    return f"찾은 민원: {', '.join(found) or '없음'}"


def reserve_room(sandbox, text, now):
    old = re.search(r"RV-\d+", text).group()
    month, day, hour, room = re.search(r"(\d+)월 (\d+)일 (\d+)시에 (\S+)", text).groups()
    sandbox.call("cancel_reservation", {"id": old})
    time = f"{now[:4]}-{int(month):02}-{int(day):02}T{int(hour):02}:00"
    made = sandbox.call("reserve_room", {"room": room, "time": time})
    return f"{old} 을 지우고 {room} 을 잡았습니다({made['id']})."


def budget_status(sandbox, text, now):
    code = re.search(r"D\d+", text).group()
    try:
        return f"{code} 의 집행액은 {sandbox.call('get_budget_status', {'dept_code': code})['spent']}원입니다."
    except ToolError as error:
        return f"집행 현황을 조회하지 못했습니다({error})."


WORK = {
    "send_email": send_mail,
    "request_leave": request_leave,
    "search_petitions": search_petitions,
    "reserve_room": reserve_room,
    "get_budget_status": budget_status,
}
LOCK = threading.Lock()
ANSWERED = {}


def answer(turn):
    """The answer to a turn. An event that was answered is answered without doing anything again."""
    event = (turn["trial_id"], turn["message"]["event_id"])
    with LOCK:
        is_new = event not in ANSWERED
        ANSWERED.setdefault(event, True)
    if not is_new:
        return {"output": {"text": "이미 처리한 요청입니다."}}
    work = next((WORK[tool["name"]] for tool in turn.get("tools", []) if tool["name"] in WORK), None)
    if work is None:
        return {"output": {"text": "쓸 수 있는 도구가 없어 도와드리지 못합니다."}}
    sandbox = Sandbox(turn)
    try:
        text = work(sandbox, turn["message"]["content"], turn["now"])
    except Stop as stop:
        text = str(stop)
    except (ToolError, Lost):
        text = "결과를 확인하지 못했습니다."
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"output": {"text": text}, "events": sandbox.proposals, "usage": usage}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = os.environ.get("TARGET_KEY")
        if key is not None and not hmac.compare_digest(key, self.headers.get("X-Agent-Key", "")):
            self.say(401, {"error": {"message": f"not {self.headers.get('X-Agent-Key')}"}})
        elif body.get("protocol") != PROTOCOL:
            self.say(400, {"error": {"message": "another protocol"}})
        elif body.get("type") == "preflight":
            capabilities = ["cancel_signal", "proposals"]
            self.say(200, {"protocol": PROTOCOL, "name": "office", "version": "1", "capabilities": capabilities})
        else:
            self.say(200, answer(body))

    def say(self, status, body):
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
