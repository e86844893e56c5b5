/** What is printed about who sells or buys, and how they are taxed, as staff set it. */

import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { problemOf } from '@/api/problem';
import { basisPoints, percentOf } from '@/format/tax';
import { common, operations, settings } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Failure } from '@/ui/Feedback';
import { Field, Input } from '@/ui/Form';
import { Command, Time } from '@/ui/Values';

const text = operations.profiles;
type Profile = Schemas['BillingProfile'];
type Save = (body: Schemas['BillingProfileSpec']) => Promise<unknown>;

interface Props {
  title: string;
  lead: string;
  /** While none is set: what that means, and the same from a terminal. */
  none: string;
  command: string;
  query: UseQueryResult<Profile>;
  save: Save;
}

export function ProfileCard({ title, lead, none, command, query, save }: Props) {
  const isUnset = query.data === undefined && problemOf(query.error)?.code === 'not_found';
  return (
    <Card title={title} lead={isUnset ? none : lead}>
      {isUnset ? (
        <div className="space-y-5">
          <ProfileForm save={save} />
          <div>
            <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
            <Command>{command}</Command>
          </div>
        </div>
      ) : (
        <Answer query={query}>
          {(profile) => <ProfileForm key={profile.set_at} profile={profile} save={save} />}
        </Answer>
      )}
    </Card>
  );
}

function ProfileForm({ profile, save }: { profile?: Profile; save: Save }) {
  const queries = useQueryClient();
  const { party, tax } = profile ?? {};
  const [name, setName] = useState(party?.legal_name ?? '');
  const [address, setAddress] = useState(party?.address.join('\n') ?? '');
  const [taxId, setTaxId] = useState(party?.tax_id ?? '');
  const [email, setEmail] = useState(party?.email ?? '');
  const [taxName, setTaxName] = useState(tax?.name ?? '');
  const [percent, setPercent] = useState(tax ? percentOf(tax.basis_points) : '');
  const [note, setNote] = useState(tax?.note ?? '');
  const { busy, error, act } = useAct();
  const points = basisPoints(percent);
  const isTaxed = [taxName, percent, note].some((it) => it.trim() !== '');
  const isGood = !isTaxed || (points !== undefined && taxName.trim() !== '');
  const submit = () =>
    act(async () => {
      await save({
        legal_name: name.trim(),
        address: address
          .split('\n')
          .map((it) => it.trim())
          .filter(Boolean),
        ...(taxId.trim() ? { tax_id: taxId.trim() } : {}),
        ...(email.trim() ? { email: email.trim() } : {}),
        ...(isTaxed && points !== undefined
          ? {
              tax: {
                name: taxName.trim(),
                basis_points: points,
                ...(note.trim() ? { note: note.trim() } : {}),
              },
            }
          : {}),
      });
      await queries.invalidateQueries({ queryKey: ['billing_profile'] });
    });
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Input
        label={settings.legalName}
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Field label={settings.address} hint={settings.addressHint}>
        {(ids) => (
          <textarea
            {...ids}
            rows={3}
            value={address}
            onChange={(event) => setAddress(event.target.value)}
            className="field h-auto! py-2"
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={settings.taxId}
          isOptional
          value={taxId}
          onChange={(event) => setTaxId(event.target.value)}
        />
        <Input
          label={settings.email}
          isOptional
          type="email"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Input
          label={text.tax}
          hint={text.taxHint}
          isOptional
          value={taxName}
          onChange={(event) => setTaxName(event.target.value)}
        />
        <Input
          label={text.percent}
          isOptional
          inputMode="decimal"
          value={percent}
          error={isGood ? undefined : text.taxBad}
          onChange={(event) => setPercent(event.target.value)}
        />
      </div>
      <Input
        label={text.note}
        hint={text.noteHint}
        isOptional
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" busy={busy} disabled={!isGood}>
          {common.save}
        </Button>
        <span role="status" className="text-sm text-faint">
          {profile && (
            <>
              {text.setAt} <Time at={profile.set_at} as="local" />
            </>
          )}
        </span>
      </div>
    </form>
  );
}
