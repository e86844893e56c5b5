/** The frame of views that fill the window: live, and with what interrupts. */

import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { follow } from '@/live/events';
import { standing } from '@/session/session';
import { useStore } from '@/session/store';
import { SessionEnded } from './SessionEnded';

export function Alone() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { org } = useParams({ strict: false }) as { org?: string };
  const is = useStore(standing);
  useEffect(() => (org ? follow({ organization: org }, queries) : undefined), [org, queries]);
  // What fills the window keeps no room for a scroll bar that it never has.
  useEffect(() => {
    document.documentElement.style.scrollbarGutter = 'auto';
    return () => {
      document.documentElement.style.scrollbarGutter = '';
    };
  }, []);
  useEffect(() => {
    if (is === 'out') void navigate({ to: '/sign-in' });
  }, [is, navigate]);
  return (
    <>
      <Outlet />
      {is === 'ended' && <SessionEnded />}
    </>
  );
}
