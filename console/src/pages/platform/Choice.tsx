interface Props {
  label: string;
  value: string | undefined;
  none: string;
  onChange: (next: string) => void;
  children: readonly (readonly [string, string])[];
}

/** A filter with a way to say nothing. */
export function Choice({ label, value, none, onChange, children }: Props) {
  return (
    <select
      aria-label={label}
      className="field h-8! w-auto! max-w-full"
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{none}</option>
      {children.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
