/** Plays a recording into a terminal: time passes, is stopped, or is set. */

import type { Terminal } from '@xterm/xterm';
import { createStore } from '@/session/store';
import { type Cast, reached, schedule, sizeOf } from './cast';

export interface Moment {
  at: number;
  total: number;
  isPlaying: boolean;
}

export class Playback {
  readonly moment;
  private times: number[];
  private played = 0;
  private speed = 1;
  private last: number | undefined;
  private request = 0;

  constructor(
    private readonly cast: Cast,
    private readonly terminal: Terminal,
    mostIdleS: number,
  ) {
    this.times = schedule(cast.events, mostIdleS);
    this.moment = createStore<Moment>({ at: 0, total: this.times.at(-1) ?? 0, isPlaying: false });
    terminal.resize(cast.columns, cast.rows);
  }

  setSpeed(speed: number): void {
    this.speed = speed;
  }

  /** The same event stays in sight; only the pauses around it change. */
  setIdle(mostIdleS: number): void {
    this.times = schedule(this.cast.events, mostIdleS);
    const at = this.times[this.played - 1] ?? 0;
    this.moment.set({ ...this.moment.get(), at, total: this.times.at(-1) ?? 0 });
  }

  toggle(): void {
    const { isPlaying, at, total } = this.moment.get();
    if (isPlaying) return this.pause();
    if (at >= total) this.seek(0);
    this.moment.set({ ...this.moment.get(), isPlaying: true });
    this.last = undefined;
    this.request = requestAnimationFrame(this.tick);
  }

  pause(): void {
    cancelAnimationFrame(this.request);
    this.moment.set({ ...this.moment.get(), isPlaying: false });
  }

  seek(to: number): void {
    const { total } = this.moment.get();
    const at = Math.min(Math.max(0, to), total);
    const wanted = reached(this.times, at);
    if (wanted < this.played) {
      this.terminal.reset();
      this.terminal.resize(this.cast.columns, this.cast.rows);
      this.played = 0;
    }
    this.playUntil(wanted);
    this.moment.set({ ...this.moment.get(), at });
  }

  /** When the event is played. */
  timeOf(event: number): number {
    return this.times[event] ?? 0;
  }

  stop(): void {
    cancelAnimationFrame(this.request);
  }

  private readonly tick = (now: number) => {
    const { at, total } = this.moment.get();
    const next = Math.min(total, at + ((now - (this.last ?? now)) / 1000) * this.speed);
    this.last = now;
    this.playUntil(reached(this.times, next));
    const isPlaying = next < total;
    this.moment.set({ at: next, total, isPlaying });
    if (isPlaying) this.request = requestAnimationFrame(this.tick);
  };

  private playUntil(event: number): void {
    let text = '';
    for (; this.played < event; this.played += 1) {
      const it = this.cast.events[this.played];
      if (it?.kind === 'output') text += it.data;
      const size = it?.kind === 'size' ? sizeOf(it.data) : undefined;
      if (!size) continue;
      this.terminal.write(text);
      text = '';
      // In its turn: what was written before belongs to the size before.
      this.terminal.write('', () => this.terminal.resize(...size));
    }
    if (text) this.terminal.write(text);
  }
}
