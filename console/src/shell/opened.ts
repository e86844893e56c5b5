/** Which dialog is open is part of the address, as in `?open=new`: it can be linked to, and found by the palette. */

import { useNavigate, useSearch } from '@tanstack/react-router';

interface Opened {
  isOpen: boolean;
  open: () => void;
  close: () => void;
}

export function useOpened(name: string): Opened {
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { open?: string };
  const set = (open: string | undefined) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, open })) as never,
      replace: true,
    });
  return { isOpen: search.open === name, open: () => set(name), close: () => set(undefined) };
}
