/** Pages that mail a token first and then take it: the address, the form for the token, the end. */

import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { signIn } from '@/strings';
import { ActionForm } from '@/ui/ActionForm';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Form';
import { Outside } from './Outside';

type Step = 'address' | 'token' | 'done';

export function MailedSteps({
  title,
  known,
  done,
  address,
  children,
}: {
  title: string;
  /** The token that came with the address of the page, or nothing. */
  known: string;
  /** What the last step says. */
  done: string;
  address: (onDone: () => void) => ReactNode;
  children: (onDone: () => void) => ReactNode;
}) {
  const [step, setStep] = useState<Step>(known ? 'token' : 'address');
  return (
    <Outside title={title}>
      {step === 'address' && address(() => setStep('token'))}
      {step === 'token' && children(() => setStep('done'))}
      {step === 'done' && <p role="status">{done}</p>}
      <p className="mt-5 text-center text-sm">
        <Link to="/sign-in" className="text-accent-ink underline">
          {signIn.haveAccount}
        </Link>
      </p>
    </Outside>
  );
}

export function AddressForm({
  label,
  work,
  onDone,
  onHaveToken,
}: {
  label: string;
  work: (email: string) => Promise<unknown>;
  onDone: () => void;
  /** For those who have a token without a mail of this page. */
  onHaveToken?: () => void;
}) {
  const [email, setEmail] = useState('');
  const skip = onHaveToken && (
    <Button type="button" className="w-full" onClick={onHaveToken}>
      {signIn.haveToken}
    </Button>
  );
  return (
    <ActionForm label={label} work={() => work(email)} onDone={onDone} kind="primary" isWide beside={skip}>
      <Input
        label={signIn.email}
        type="email"
        required
        autoComplete="username"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
    </ActionForm>
  );
}

/** A password that is chosen, with the rule that the server holds it to. */
export function NewPasswordInput({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <Input
      label={signIn.newPassword}
      hint={signIn.passwordHint}
      type="password"
      required
      minLength={12}
      autoComplete="new-password"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
