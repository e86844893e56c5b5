"""A mail server for tests: `server.py PORT FOLDER`.

Appends every mail that it accepts to FOLDER/mails.jsonl, decoded by Python's
own parser. FOLDER/script.json says what to answer next, by step: each answer is
used once, and afterwards everything is accepted.
"""

import asyncio
import json
import pathlib
import sys
from email import message_from_bytes, policy

from aiosmtpd.smtp import SMTP

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
script = folder / "script.json"


def scripted(step):
    answers = json.loads(script.read_text()) if script.exists() else {}
    if not answers.get(step):
        return None
    answer = answers[step].pop(0)
    script.write_text(json.dumps(answers))
    with (folder / "refused.jsonl").open("a") as out:
        out.write(json.dumps({"step": step, "answer": answer}) + "\n")
    return answer.replace("{address}", scripted.address)


scripted.address = ""


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        answer = scripted("mail")
        if answer:
            return answer
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        scripted.address = address
        answer = scripted("rcpt")
        if answer:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        answer = scripted("data")
        if answer:
            return answer
        mail = message_from_bytes(envelope.content, policy=policy.default)
        text, html = mail.get_body(("plain",)), mail.get_body(("html",))
        seen = {
            "envelope_from": envelope.mail_from,
            "envelope_to": envelope.rcpt_tos,
            "headers": {name.lower(): str(value) for name, value in mail.items()},
            "text": text.get_content() if text else None,
            "html": html.get_content() if html else None,
            "defects": [str(it) for part in mail.walk() for it in part.defects],
        }
        with (folder / "mails.jsonl").open("a") as out:
            out.write(json.dumps(seen) + "\n")
        return "250 OK"


async def main():
    loop = asyncio.get_running_loop()
    serve = lambda: SMTP(Handler(), hostname="mail.test", loop=loop)
    server = await loop.create_server(serve, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())
