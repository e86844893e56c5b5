/** A recording, played. Loaded with xterm.js when one is opened. */

import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useStore } from '@/session/store';
import { createScreen, type Screen } from '@/terminal/xterm';
import { access } from '@/strings';
import { Button } from '@/ui/Button';
import { Segments } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { Toggle } from '@/ui/Toggle';
import { type Cast, clock, parse } from './cast';
import { Playback } from './playback';

const text = access.recordings;
const SPEEDS = ['0.5', '1', '2', '4', '8'] as const;
type Speed = (typeof SPEEDS)[number];
// bound: longer pauses are cut to this when pauses are shortened
const IDLE_S = 2;
const STEP_S = 5;
/** A cell's width as a part of the font's size, in the console's own font. */
const CELL = 0.602;

export function Player({ cast: source }: { cast: string }) {
  const cast = useMemo(() => {
    try {
      return parse(source);
    } catch {
      return undefined;
    }
  }, [source]);
  if (!cast) return <p className="p-4 text-soft">{text.unreadable}</p>;
  if (cast.events.length === 0) return <p className="p-4 text-soft">{text.empty}</p>;
  return <Stage cast={cast} />;
}

function Stage({ cast }: { cast: Cast }) {
  const place = useRef<HTMLDivElement>(null);
  const [playing, setPlaying] = useState<Playback>();
  useEffect(() => {
    const room = place.current;
    if (!room) return;
    const screen = createScreen({ label: text.player, isStill: true });
    room.append(screen.element);
    const playback = new Playback(cast, screen.terminal, IDLE_S);
    const fit = () => fitFont(screen, room.clientWidth);
    const resized = screen.terminal.onResize(fit);
    const watch = new ResizeObserver(fit);
    watch.observe(room);
    fit();
    // Something is seen before anything is pressed.
    playback.seek(playback.timeOf(0));
    setPlaying(playback);
    return () => {
      watch.disconnect();
      resized.dispose();
      playback.stop();
      screen.dispose();
    };
  }, [cast]);
  return (
    <Controls cast={cast} playback={playing}>
      <div
        role="region"
        aria-label={text.screen}
        tabIndex={0}
        className="terminal-place overflow-auto p-2 -outline-offset-2"
      >
        <div ref={place} className="min-w-0" />
      </div>
    </Controls>
  );
}

/** Letters as large as the room allows, so that every column is seen. */
function fitFont(screen: Screen, width: number): void {
  const { terminal } = screen;
  const size = Math.floor((width - 16) / (terminal.cols * CELL));
  const fontSize = Math.min(14, Math.max(8, size));
  if (terminal.options.fontSize !== fontSize) terminal.options.fontSize = fontSize;
}

interface ControlsProps {
  cast: Cast;
  playback: Playback | undefined;
  children: React.ReactNode;
}

function Controls({ cast, playback, children }: ControlsProps) {
  const [speed, setSpeed] = useState<Speed>('1');
  const [isShort, setShort] = useState(true);
  const chooseSpeed = (next: Speed) => {
    setSpeed(next);
    playback?.setSpeed(Number(next));
  };
  const press = (event: KeyboardEvent) => {
    if (!playback || (event.target as HTMLElement).closest('button, [role=switch]')) return;
    const { at, total } = playback.moment.get();
    const acts: Record<string, () => void> = {
      ' ': () => playback.toggle(),
      ArrowLeft: () => playback.seek(at - STEP_S),
      ArrowRight: () => playback.seek(at + STEP_S),
      Home: () => playback.seek(0),
      End: () => playback.seek(total),
      '<': () => chooseSpeed(SPEEDS[Math.max(0, SPEEDS.indexOf(speed) - 1)] ?? speed),
      '>': () => chooseSpeed(SPEEDS[SPEEDS.indexOf(speed) + 1] ?? speed),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div role="group" aria-label={text.player} onKeyDown={press}>
      {children}
      {playback && (
        <div className="space-y-2 border-t px-4 py-3">
          <Line playback={playback} cast={cast} />
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <Segments
              label={text.speed}
              value={speed}
              options={SPEEDS.map((it) => [it, `${it}×`] as const)}
              onChange={chooseSpeed}
            />
            <label className="flex items-center gap-2 text-sm">
              <Toggle
                label={text.skipIdle}
                isOn={isShort}
                onChange={(next) => {
                  setShort(next);
                  playback.setIdle(next ? IDLE_S : Infinity);
                }}
              />
              <span title={text.idle(IDLE_S)}>{text.skipIdle}</span>
            </label>
          </div>
          <p className="text-xs text-faint max-md:hidden">{text.keys}</p>
          <Missing playback={playback} cast={cast} />
        </div>
      )}
    </div>
  );
}

function Line({ playback, cast }: { playback: Playback; cast: Cast }) {
  const { at, total, isPlaying } = useStore(playback.moment);
  const where = text.positionOf(clock(at, total), clock(total, total));
  return (
    <div className="flex items-center gap-3">
      <Button
        small
        kind="primary"
        aria-label={isPlaying ? text.pauseIt : text.playIt}
        onClick={() => playback.toggle()}
      >
        <Icon name={isPlaying ? 'pause' : 'play'} size={15} />
      </Button>
      <div className="relative min-w-0 grow">
        <input
          type="range"
          aria-label={text.position}
          aria-valuetext={where}
          min={0}
          max={Math.max(total, 0.001)}
          step="any"
          value={at}
          onChange={(event) => playback.seek(Number(event.target.value))}
          className="block w-full accent-accent"
        />
        {total > 0 &&
          cast.events.map(
            (event, index) =>
              event.kind === 'marker' && (
                <span
                  key={index}
                  aria-hidden
                  title={event.data}
                  className="pointer-events-none absolute top-0 h-full w-0.5 bg-bad"
                  style={{ left: `${(playback.timeOf(index) / total) * 100}%` }}
                />
              ),
          )}
      </div>
      <span className="numbers text-sm whitespace-nowrap text-soft">{where}</span>
    </div>
  );
}

/** What no piece holds, where it would have been. */
function Missing({ playback, cast }: { playback: Playback; cast: Cast }) {
  const gaps = cast.events.flatMap((event, index) => (event.kind === 'marker' ? [{ event, index }] : []));
  useStore(playback.moment);
  if (gaps.length === 0) return null;
  return (
    <ul className="space-y-1.5 rounded-lg bg-warn-soft p-3 text-sm text-warn">
      {gaps.map(({ event, index }) => (
        <li key={index} className="flex flex-wrap items-center gap-2">
          <Icon name="warn" size={15} />
          <span className="numbers">{clock(event.at)}</span>
          <span className="grow">{event.data}</span>
          <Button small onClick={() => playback.seek(playback.timeOf(index))}>
            {text.jump}
          </Button>
        </li>
      ))}
    </ul>
  );
}
