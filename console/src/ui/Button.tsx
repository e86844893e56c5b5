import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { classes } from './classes';
import { Icon } from './Icon';

type Kind = 'primary' | 'plain' | 'quiet' | 'warn' | 'danger';

const LOOKS: Record<Kind, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover border-transparent',
  plain: 'bg-surface text-ink border-line-strong hover:bg-hover',
  quiet: 'bg-transparent text-soft border-transparent hover:bg-hover hover:text-ink',
  warn: 'bg-surface text-bad border-line-strong hover:bg-bad-soft',
  danger: 'bg-bad text-surface border-transparent hover:opacity-90',
};

const BASE =
  'inline-flex items-center justify-center gap-2 rounded-lg border font-medium whitespace-nowrap transition-colors disabled:opacity-50';

export function buttonLook(kind: Kind = 'plain', small = false): string {
  return classes(BASE, LOOKS[kind], small ? 'h-8 px-2.5 text-sm' : 'h-9 px-3.5 text-base');
}

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
  small?: boolean;
  busy?: boolean;
  children: ReactNode;
}

export function Button({
  kind,
  small,
  busy,
  children,
  className,
  disabled,
  type = 'button',
  ...rest
}: Props) {
  return (
    <button
      {...rest}
      type={type}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={classes(buttonLook(kind, small), className)}
    >
      {busy && <Spinner />}
      {children}
    </button>
  );
}

/** Begins something new: a page's main action. */
export function NewButton({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <Button kind="primary" onClick={onClick}>
      <Icon name="plus" size={16} />
      {children}
    </Button>
  );
}

export function Spinner() {
  return (
    <span
      aria-hidden
      className="size-3.5 animate-spin rounded-full border-2 border-current border-r-transparent opacity-70"
    />
  );
}
