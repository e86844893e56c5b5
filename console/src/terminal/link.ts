/**
 * One terminal's connection. It gets its tickets, comes back when the line breaks
 * and goes on where it stopped: offsets say what was shown already.
 */

import { ProblemError, UnreachableError } from '@/api/problem';
import { createStore } from '@/session/store';
import { type End, next, pauseMs } from './closing';
import { type Closing, hangup, type Heard, input, ping, read, resize, unseen } from './frames';

export interface Ticket {
  ticket: string;
  url: string;
  session_id: string;
}

export type LinkState =
  | { at: 'connecting' }
  | { at: 'open' }
  /** It comes back by itself. */
  | { at: 'away'; tries: number }
  | { at: 'over'; end: End; code?: number | undefined; words?: string | undefined; error?: unknown };

interface Ports {
  /** A new ticket, for the shell that it names or for a new one. */
  ticket: (resume: string | undefined) => Promise<Ticket>;
  size: () => { columns: number; rows: number };
  /** `isWhole`: the terminal is emptied first. `shown` is called when it was drawn. */
  show: (bytes: Uint8Array, isWhole: boolean, shown: () => void) => void;
  notice: (text: string) => void;
  /** The shell's session became known. */
  named: (session: string) => void;
  open?: (url: string, protocols: string[]) => WebSocket;
}

// bound: output that waits to be drawn; past it the page parts and gets the screen later
const MOST_WAITING_BYTES = 8 * 1024 * 1024;
// bound: what somebody types while a shell begins
const MOST_EARLY_BYTES = 4096;
// bound: proxies close silent connections after a minute
const PING_MS = 25_000;
// bound: a page that cannot keep up asks for the screen this often
const CATCH_UP_MS = 1_500;

export class Link {
  readonly state = createStore<LinkState>({ at: 'connecting' });
  private socket: WebSocket | undefined;
  private seen: number | undefined;
  private exit: { code: number } | undefined;
  private said: Closing | undefined;
  private tries = 0;
  private early: Uint8Array[] = [];
  private waiting = 0;
  private isBehind = false;
  private isStarted = false;
  private isStopped = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pinger: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly ports: Ports,
    private session?: string,
    private readonly canResume = true,
  ) {
    window.addEventListener('online', this.hurry);
  }

  /** Connects for the first time; again changes nothing. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    void this.connect();
  }

  /** Connects, or connects again. */
  private async connect(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.said = undefined;
    this.exit = undefined;
    if (this.state.get().at === 'over') {
      this.early = [];
      this.state.set({ at: 'connecting' });
    }
    let ticket: Ticket;
    try {
      ticket = await this.ports.ticket(this.session);
    } catch (error) {
      return this.refused(error);
    }
    if (!this.isStopped) this.talk(ticket);
  }

  /** Begins a new shell in the place of one that is over. */
  renew(): Promise<void> {
    this.session = undefined;
    this.seen = undefined;
    this.tries = 0;
    return this.connect();
  }

  /** Comes back at somebody's wish: takes a shell over, or tries again. */
  resume(): Promise<void> {
    this.tries = 0;
    return this.connect();
  }

  type(bytes: Uint8Array): void {
    // Who opens a shell may type before it is there; who was cut off sees it, and waits.
    if (this.state.get().at === 'connecting') return this.hold(bytes);
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    for (const frame of input(bytes)) this.socket.send(frame);
  }

  private hold(bytes: Uint8Array): void {
    const held = this.early.reduce((sum, it) => sum + it.length, 0);
    if (held + bytes.length <= MOST_EARLY_BYTES) this.early.push(bytes);
  }

  resize(columns: number, rows: number): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(resize(columns, rows));
  }

  /** Ends the shell too. */
  end(): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(hangup());
  }

  /** Leaves; the shell waits for somebody. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    window.removeEventListener('online', this.hurry);
    this.part();
  }

  private part(): void {
    clearInterval(this.pinger);
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  private talk({ url, ticket, session_id }: Ticket): void {
    const { columns, rows } = this.ports.size();
    const protocols = ['gpuaas.v1', `gpuaas.ticket.${ticket}`, `gpuaas.size.${columns}x${rows}`];
    if (this.seen !== undefined) protocols.push(`gpuaas.seen.${this.seen}`);
    const open = this.ports.open ?? ((address, offered) => new WebSocket(address, offered));
    const socket = open(`${url}/v1/terminal`, protocols);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    // A gateway that came after this page was loaded is not in its policy.
    let isBlocked = false;
    const blocked = (event: SecurityPolicyViolationEvent) => {
      if (event.effectiveDirective === 'connect-src') isBlocked = true;
    };
    document.addEventListener('securitypolicyviolation', blocked);
    socket.onmessage = (message) => {
      if (this.socket !== socket) return;
      try {
        this.hear(read(message.data as ArrayBuffer), session_id);
      } catch {
        this.part();
        this.state.set({ at: 'over', end: 'not_understood' });
      }
    };
    socket.onclose = (event) => {
      document.removeEventListener('securitypolicyviolation', blocked);
      if (this.socket !== socket) return;
      this.part();
      if (isBlocked) this.state.set({ at: 'over', end: 'blocked' });
      else this.closed(event.code, event.reason);
    };
  }

  private hear(heard: Heard, session: string): void {
    switch (heard.kind) {
      case 'opened':
        // Only now is there something to come back to.
        this.session = session;
        this.ports.named(session);
        this.tries = 0;
        this.seen ??= heard.offset;
        this.state.set({ at: 'open' });
        this.early.splice(0).forEach((it) => this.type(it));
        this.pinger = setInterval(() => this.socket?.send(ping()), PING_MS);
        return;
      case 'output': {
        const fresh = unseen(this.seen, heard.offset, heard.bytes);
        this.seen = heard.offset + heard.bytes.length;
        return this.draw(fresh, false);
      }
      case 'screen':
        this.seen = heard.offset;
        return this.draw(heard.bytes, true);
      case 'exit':
        this.exit = { code: heard.code };
        return;
      case 'close':
        this.said = heard.closing;
        return;
      case 'notice':
        return this.ports.notice(heard.text);
      case 'other':
        return;
    }
  }

  /** A browser takes all that comes, so that a flood would fill its memory. */
  private draw(bytes: Uint8Array, isWhole: boolean): void {
    this.waiting += bytes.length;
    this.ports.show(bytes, isWhole, () => {
      this.waiting -= bytes.length;
      if (!this.isBehind || this.waiting > 0) return;
      this.isBehind = false;
      if (!this.isStopped) this.timer = setTimeout(() => void this.connect(), CATCH_UP_MS);
    });
    if (this.waiting <= MOST_WAITING_BYTES || !this.canResume) return;
    this.isBehind = true;
    this.seen = undefined;
    this.part();
    this.state.set({ at: 'away', tries: 0 });
  }

  private closed(code: number, words: string): void {
    if (this.exit) return this.state.set({ at: 'over', end: 'exit', code: this.exit.code });
    const what = next(code, this.said);
    if (what.then === 'over' || !this.canResume) {
      return this.state.set({ at: 'over', end: what.end, words: words || undefined });
    }
    this.again(what.patience, { at: 'over', end: what.end, words: words || undefined });
  }

  private refused(error: unknown): void {
    if (this.isStopped) return;
    const status = error instanceof ProblemError ? error.problem.status : 0;
    const over: LinkState = { at: 'over', end: 'problem', error };
    // Many shells that come back at once may be told to wait for their tickets.
    const isLater = error instanceof UnreachableError || status >= 500 || status === 429;
    if (isLater) return this.again(120, over);
    // The shell that was waited for is over: whoever was away is told so.
    if (this.session && (status === 404 || status === 409)) {
      return this.state.set({ at: 'over', end: 'ended', error });
    }
    this.state.set(over);
  }

  private again(patience: number, otherwise: LinkState): void {
    if (this.tries >= patience) return this.state.set(otherwise);
    this.state.set({ at: 'away', tries: this.tries });
    this.timer = setTimeout(() => void this.connect(), pauseMs(this.tries));
    this.tries += 1;
  }

  private readonly hurry = () => {
    if (this.timer && this.state.get().at === 'away') void this.connect();
  };
}
