/** Fields with their labels, hints and errors tied to them. */

import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react';
import { common } from '@/strings';
import { classes } from './classes';

interface Around {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  isOptional?: boolean;
  className?: string;
}

interface Ids {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean | undefined;
}

export function Field({
  label,
  hint,
  error,
  isOptional,
  className,
  children,
}: Around & { children: (ids: Ids) => ReactNode }) {
  const id = useId();
  const described = error || hint ? `${id}-note` : undefined;
  return (
    <div className={classes('min-w-0', className)}>
      <label htmlFor={id} className="mb-1 flex items-baseline gap-1.5 text-sm font-medium">
        {label}
        {isOptional && <span className="font-normal text-faint">{common.optional}</span>}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {(error || hint) && (
        <p id={described} className={classes('mt-1 text-sm', error ? 'text-bad' : 'text-faint')}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

type InputProps = Around & Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'className'>;

export function Input({ label, hint, error, isOptional, className, ...rest }: InputProps) {
  return (
    <Field {...{ label, hint, error, isOptional, className }}>
      {(ids) => <input {...rest} {...ids} className="field" />}
    </Field>
  );
}

type SelectProps = Around & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id' | 'className'>;

export function Select({ label, hint, error, isOptional, className, children, ...rest }: SelectProps) {
  return (
    <Field {...{ label, hint, error, isOptional, className }}>
      {(ids) => (
        <select {...rest} {...ids} className="field pr-8">
          {children}
        </select>
      )}
    </Field>
  );
}

/** A choice of one among a few, all in sight. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (next: T) => void;
}) {
  return (
    <div role="radiogroup" aria-label={label} className="inline-flex rounded-lg bg-sunken p-0.5">
      {options.map(([option, name]) => (
        <button
          key={option}
          type="button"
          role="radio"
          aria-checked={option === value}
          onClick={() => onChange(option)}
          className={classes(
            'h-7 rounded-md px-2.5 text-sm whitespace-nowrap',
            option === value
              ? 'bg-surface font-medium text-ink shadow-low ring-1 ring-line-strong'
              : 'text-soft hover:text-ink',
          )}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
