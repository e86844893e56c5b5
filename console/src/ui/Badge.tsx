import { words } from '@/format/size';
import { classes } from './classes';

export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle';

const LOOKS: Record<Tone, string> = {
  ok: 'bg-ok-soft text-ok',
  busy: 'bg-busy-soft text-busy',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  idle: 'bg-sunken text-soft',
};

/** What each state means to a reader, whatever the resource. */
const TONES: Readonly<Record<string, Tone>> = {
  active: 'ok',
  ready: 'ok',
  ok: 'ok',
  delivered: 'ok',
  succeeded: 'ok',
  funded: 'ok',
  done: 'ok',
  accepted: 'ok',
  clean: 'ok',
  in_service: 'ok',
  sent: 'ok',
  updated: 'ok',
  matched: 'ok',
  live: 'ok',
  requested: 'busy',
  provisioning: 'busy',
  starting: 'busy',
  stopping: 'busy',
  releasing: 'busy',
  pending: 'busy',
  enrolling: 'busy',
  created: 'busy',
  waiting: 'busy',
  proposed: 'busy',
  planned: 'busy',
  deleting: 'busy',
  sanitizing: 'busy',
  held: 'busy',
  discovered: 'busy',
  acquiring: 'busy',
  deploying: 'busy',
  updating: 'busy',
  removing: 'busy',
  low: 'warn',
  grace: 'warn',
  stopped: 'warn',
  cordoned: 'warn',
  draining: 'warn',
  maintenance: 'warn',
  degraded: 'warn',
  suspended: 'warn',
  disputed: 'warn',
  dirty: 'warn',
  unknown: 'warn',
  failed: 'bad',
  release_failed: 'bad',
  exhausted: 'bad',
  depleted: 'bad',
  disabled: 'bad',
  charged_back: 'bad',
  quarantined: 'bad',
  silent: 'bad',
  lying: 'bad',
  refused: 'bad',
  rolled_back: 'bad',
};

export function toneOf(state: string): Tone {
  return TONES[state] ?? 'idle';
}

export function Badge({ tone = 'idle', children }: { tone?: Tone; children: string }) {
  return (
    <span
      className={classes(
        'inline-flex h-5.5 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        LOOKS[tone],
      )}
    >
      <span
        aria-hidden
        className={classes('size-1.5 rounded-full bg-current', tone === 'busy' && 'animate-pulse')}
      />
      {children}
    </span>
  );
}

export function State({ state }: { state: string }) {
  return <Badge tone={toneOf(state)}>{words(state)}</Badge>;
}
