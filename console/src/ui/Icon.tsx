/** Line icons, drawn here: 24 by 24, one stroke. */

const PATHS = {
  overview: 'M4 13h7V4H4zM13 20h7v-9h-7zM13 4v4h7V4zM4 20h7v-4H4z',
  launch: 'M5 19l4-1 9-9a4 4 0 0 0 1-5 4 4 0 0 0-5 1l-9 9zM12 8l4 4M5 19l3-3',
  allocations: 'M4 6h16v5H4zM4 13h16v5H4zM8 8.5h.01M8 15.5h.01',
  key: 'M14 10a4 4 0 1 1-3.5-4A4 4 0 0 1 14 10zM13 12l7 7M17 16l2-2',
  usage: 'M4 20V4M4 20h16M8 16v-5M12 16V8M16 16v-3',
  billing: 'M3 7h18v11H3zM3 11h18M7 15h3',
  invoice: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h6M9 17h6',
  limits: 'M5 18a8 8 0 1 1 14 0M12 14l4-4M12 14h.01',
  project: 'M3 7h7l2 2h9v10H3z',
  members:
    'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19a6 6 0 0 1 12 0M16 5.5a3 3 0 0 1 0 5M18 19a6 6 0 0 0-2-4.5',
  robot: 'M5 9h14v10H5zM12 9V5M9 14h.01M15 14h.01M3 13v3M21 13v3',
  webhook: 'M8 8a4 4 0 1 1 6 3l3 5M16 16h-6M10 16a4 4 0 1 1-4-4M12 8l-4 7M16 16a3 3 0 1 0 3 3',
  audit: 'M5 4h14v16H5zM9 9h6M9 13h6M9 17h3',
  bell: 'M6 17V11a6 6 0 1 1 12 0v6l1 1H5zM10 20a2 2 0 0 0 4 0',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4 4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12l5 5 9-10',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  chevron: 'M7 10l5 5 5-5',
  right: 'M10 7l5 5-5 5',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  fleet: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  enroll: 'M4 5h16v9H4zM9 20h6M12 14v6M12 7v4M10 9h4',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
  building: 'M5 20V4h10v16M15 10h4v10M3 20h18M8 8h4M8 12h4M8 16h4',
  policy: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z',
  letter: 'M3 6h18v12H3zM3 7l9 7 9-7',
  work: 'M12 8v4l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  events: 'M4 12h4l2-6 4 12 2-6h4',
  terminal: 'M3 5h18v14H3zM7 9l3 3-3 3M13 15h4',
  record: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  expand: 'M4 10V4h6M20 14v6h-6M4 4l6 6M20 20l-6-6',
  shrink: 'M10 4v6H4M14 20v-6h6M10 10L4 4M14 14l6 6',
  play: 'M8 5l11 7-11 7z',
  pause: 'M9 5v14M15 5v14',
  seal: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM8.5 12l2.5 2.5 4.5-5',
  ear: 'M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11',
  out: 'M10 4H4v16h6M14 8l4 4-4 4M18 12H9',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18, className }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      aria-hidden
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      className={className ? `shrink-0 ${className}` : 'shrink-0'}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
