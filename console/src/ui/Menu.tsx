import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { Icon } from './Icon';

/** Not modal: a modal one writes styles into the page, which its policy forbids. */
export function Menu({
  label,
  trigger,
  children,
}: {
  label: string;
  trigger: ReactNode;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Content
        aria-label={label}
        align="start"
        sideOffset={6}
        className="z-40 max-h-80 min-w-52 overflow-y-auto rounded-lg border bg-surface p-1 shadow-high"
      >
        {children}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

export function MenuItem({
  onSelect,
  children,
  isChosen,
}: {
  onSelect: () => void;
  children: ReactNode;
  isChosen?: boolean;
}) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      className="flex h-8 cursor-pointer items-center gap-2 rounded-md px-2.5 text-sm outline-none select-none data-highlighted:bg-hover"
    >
      <span className="min-w-0 grow truncate">{children}</span>
      {isChosen && <Icon name="check" size={15} className="text-accent-ink" />}
    </DropdownMenu.Item>
  );
}
