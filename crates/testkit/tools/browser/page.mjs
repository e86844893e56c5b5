// A terminal in a page: one frame in each binary message, as the gateway speaks.
import { Terminal } from "/xterm.mjs";

const INPUT = 1, RESIZE = 2, OPENED = 16, OUTPUT = 17, SCREEN = 18, EXIT = 20, CLOSE = 21;

const terminal = new Terminal({ fontSize: 14 });
terminal.open(document.getElementById("terminal"));
const state = (window.state = { opened: null, exit: null, closed: null });

function frame(kind, body) {
  const bytes = new Uint8Array(5 + body.length);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(1, body.length);
  bytes.set(body, 5);
  return bytes;
}

function fit() {
  const columns = Math.max(20, Math.floor(window.innerWidth / 9) - 2);
  const rows = Math.max(5, Math.floor(window.innerHeight / 18) - 2);
  terminal.resize(columns, rows);
  return { columns, rows };
}

const text = (body) => new TextDecoder().decode(body);

async function connect() {
  const { columns, rows } = fit();
  const session = sessionStorage.getItem("session");
  const answer = await fetch("/ticket" + (session ? `?resume=${session}` : ""), { method: "POST" });
  const { url, ticket, session_id } = await answer.json();
  sessionStorage.setItem("session", session_id);
  const protocols = ["gpuaas.v1", `gpuaas.ticket.${ticket}`, `gpuaas.size.${columns}x${rows}`];
  const socket = new WebSocket(`${url}/v1/terminal`, protocols);
  socket.binaryType = "arraybuffer";
  socket.onclose = (event) => (state.closed = { code: event.code, reason: event.reason });
  socket.onmessage = ({ data }) => {
    const bytes = new Uint8Array(data);
    const body = bytes.subarray(5);
    if (bytes[0] === OPENED) state.opened = JSON.parse(text(body));
    else if (bytes[0] === OUTPUT || bytes[0] === SCREEN) terminal.write(body.subarray(8));
    else if (bytes[0] === EXIT) state.exit = JSON.parse(text(body));
    else if (bytes[0] === CLOSE) state.close = text(body);
  };
  terminal.onData((typed) => socket.send(frame(INPUT, new TextEncoder().encode(typed))));
  window.addEventListener("resize", () => {
    const { columns, rows } = fit();
    const body = new Uint8Array(4);
    new DataView(body.buffer).setUint16(0, columns);
    new DataView(body.buffer).setUint16(2, rows);
    socket.send(frame(RESIZE, body));
  });
}

window.screenText = () => {
  const buffer = terminal.buffer.active;
  const lines = [];
  for (let at = 0; at < buffer.length; at++) lines.push(buffer.getLine(at).translateToString(true));
  return lines.join("\n");
};
window.size = () => `${terminal.rows} ${terminal.cols}`;

connect();
