"""A small real server: a checkpoint of transformers behind POST /v1/chat/completions, as OpenAI's servers answer."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TAKEN = {"model", "messages", "max_tokens", "temperature", "seed"}


class ChatServer:
    """It takes the fields of TAKEN only, and refuses a request with any other by its name. `asked` lists bodies."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.asked: list[dict] = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"here": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, body: dict) -> tuple[int, dict]:
        import torch

        odd = sorted(set(body) - TAKEN)
        if odd:
            return 422, {"error": {"message": f"Unexpected fields in the request: {odd}"}}
        options = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
        read = self.tokenizer.apply_chat_template(body["messages"], **options)
        warm = body.get("temperature", 1)
        how = {"do_sample": warm > 0, **({"temperature": warm} if warm else {})}
        with self.lock, torch.inference_mode():
            torch.manual_seed(body.get("seed", 0))
            made = self.model.generate(**read, max_new_tokens=body.get("max_tokens", 20), pad_token_id=0, **how)
        text = self.tokenizer.decode(made[0, read["input_ids"].shape[1] :], skip_special_tokens=True)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return 200, {"object": "chat.completion", "model": body["model"], "choices": [choice]}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    here: ChatServer

    def log_message(self, *arguments) -> None:
        """Quiet."""

    def send(self, status: int, held: dict) -> None:
        body = json.dumps(held).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send(200, {"object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.here.asked.append(body)
        self.send(*self.here.answer(body))
