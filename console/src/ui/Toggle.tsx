import { Switch } from 'radix-ui';

interface Props {
  label: string;
  isOn: boolean;
  isFixed?: boolean;
  onChange: (next: boolean) => void;
}

export function Toggle({ label, isOn, isFixed, onChange }: Props) {
  return (
    <Switch.Root
      aria-label={label}
      checked={isOn}
      disabled={isFixed ?? false}
      onCheckedChange={onChange}
      className="relative inline-block h-5 w-9 rounded-full bg-line-strong align-middle transition-colors disabled:opacity-50 data-[state=checked]:bg-accent"
    >
      <Switch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-surface shadow-low transition-transform data-[state=checked]:translate-x-[1.125rem]" />
    </Switch.Root>
  );
}
