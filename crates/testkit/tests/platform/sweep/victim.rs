//! An organization with one real row of every kind that the API can name.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicI64, Ordering},
};

use contract::{Permission, Role, Word, id::encode};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use testkit::{Member, World};
use uuid::Uuid;

/// A kind of thing that has ids: its parameter, the prefix of its ids, and its table.
#[derive(Debug)]
pub struct Kind {
    pub param: &'static str,
    pub prefix: &'static str,
    pub table: &'static str,
    /// Whether a tenant has one; otherwise the platform does, and tenants may share it.
    pub is_tenants: bool,
}

const fn tenants(param: &'static str, prefix: &'static str, table: &'static str) -> Kind {
    Kind { param, prefix, table, is_tenants: true }
}

const fn platforms(param: &'static str, prefix: &'static str, table: &'static str) -> Kind {
    Kind { param, prefix, table, is_tenants: false }
}

/// Every kind that a path, a query or a body can name. One that is missing here fails the sweep.
pub const KINDS: &[Kind] = &[
    tenants("organization_id", "org", "organizations"),
    tenants("project_id", "proj", "projects"),
    tenants("user_id", "user", "users"),
    tenants("session_id", "sess", "sessions"),
    tenants("invitation_id", "inv", "invitations"),
    tenants("service_account_id", "sa", "service_accounts"),
    tenants("key_id", "key", "keys"),
    tenants("allocation_id", "alloc", "allocations"),
    tenants("webhook_id", "webhook", "webhooks"),
    tenants("delivery_id", "delivery", "webhook_deliveries"),
    tenants("ssh_key_id", "ssh", "ssh_keys"),
    tenants("notification_id", "notice", "notifications"),
    tenants("correction_id", "correction", "corrections"),
    tenants("budget_id", "budget", "budgets"),
    tenants("invoice_id", "invoice", "invoices"),
    tenants("journal_id", "journal", "journals"),
    tenants("payment_id", "payment", "payments"),
    tenants("refund_id", "refund", "refunds"),
    tenants("access_ticket_id", "ticket", "access_tickets"),
    tenants("access_session_id", "access", "access_sessions"),
    tenants("recording_id", "recording", "recordings"),
    tenants("factor_id", "factor", "mfa_factors"),
    tenants("dead_letter_id", "dead", "dead_letters"),
    tenants("id", "", "work"),
    platforms("region_id", "region", "regions"),
    platforms("pool_id", "pool", "pools"),
    platforms("node_id", "node", "nodes"),
    platforms("slot_id", "slot", "slots"),
    platforms("sku_id", "sku", "skus"),
    platforms("enrollment_token_id", "enroll", "enrollment_tokens"),
    platforms("maintenance_window_id", "maint", "maintenance_windows"),
    platforms("provider_id", "provider", "providers"),
    platforms("machine_id", "machine", "machines"),
    platforms("gateway_id", "gateway", "gateways"),
];

/// Parameters that are words of the contract and name nobody's row.
pub const WORDS: &[(&str, &str)] =
    &[("notification_kind", "wallet_low"), ("kind", "allocation"), ("key", "projects.max"), ("code", "not_found")];

pub fn kind(param: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|it| it.param == param)
}

/// An organization, its owner, and the id of one row of every kind.
pub struct Victim {
    pub ids: BTreeMap<&'static str, Uuid>,
    pub owner: Member,
    /// A personal key of the owner's, beside that of the service account.
    pub personal_key: Uuid,
    /// What nobody else's answer may contain.
    pub marks: Vec<String>,
    people: Vec<Uuid>,
}

impl Victim {
    /// With a word in every text of theirs, on a fleet whose ids are given.
    pub async fn new(world: &World, mark: &str, fleet: &BTreeMap<&'static str, Uuid>) -> Victim {
        static SERIAL: AtomicI64 = AtomicI64::new(1);
        let (organization, owner) = world.organization().await;
        let project = world.project(organization).await;
        let colleague = world.member_of(organization, Role::Member).await;
        let mut ids: BTreeMap<&'static str, Uuid> = KINDS.iter().map(|it| (it.param, Uuid::now_v7())).collect();
        ids.extend(fleet);
        ids.extend([("organization_id", organization.uuid()), ("project_id", project.uuid())]);
        ids.insert("user_id", owner.id.uuid());
        // What waits to be done for an allocation has the allocation's id.
        ids.insert("id", ids["allocation_id"]);
        let personal_key = Uuid::now_v7();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let script = TENANT
            .replace("$colleague_id", &format!("'{}'", colleague.id.uuid()))
            .replace("$personal_key_id", &format!("'{personal_key}'"))
            .replace("$serial", &serial.to_string())
            .replace("$mark", mark);
        run(&mut world.server.database.superuser().await, &script, &ids).await;
        let mut marks = vec![mark.to_owned(), owner.email.to_string(), colleague.email.to_string()];
        for it in KINDS.iter().filter(|it| it.is_tenants && !it.prefix.is_empty()) {
            marks.extend([encode(it.prefix, ids[it.param]), ids[it.param].to_string()]);
        }
        Victim { ids, people: vec![owner.id.uuid(), colleague.id.uuid()], owner, personal_key, marks }
    }

    /// The value of a parameter in a path.
    pub fn value(&self, path: &str, param: &str) -> String {
        if let Some((_, word)) = WORDS.iter().find(|it| it.0 == param) {
            return (*word).to_owned();
        }
        let kind = kind(param).unwrap_or_else(|| panic!("add {param} to KINDS, with a real row of the victim's"));
        let id = if path.starts_with("/v1/me/keys") { self.personal_key } else { self.ids[param] };
        if kind.prefix.is_empty() { id.to_string() } else { encode(kind.prefix, id) }
    }

    /// The id of the kind with a prefix.
    pub fn id_with(&self, prefix: &str) -> String {
        let kind = KINDS.iter().find(|it| it.prefix == prefix);
        let kind = kind.unwrap_or_else(|| panic!("add the kind of `{prefix}-` to KINDS, with a real row"));
        encode(prefix, self.ids[kind.param])
    }

    /// How many kinds have a real row.
    pub async fn real_children(&self, world: &World) -> usize {
        let mut above = world.server.database.superuser().await;
        let mut real = 0;
        for it in KINDS {
            let statement = format!("SELECT count(*) FROM {} WHERE id = $1", it.table);
            let count: i64 = sqlx::query_scalar(AssertSqlSafe(statement))
                .bind(self.ids[it.param])
                .fetch_one(&mut above)
                .await
                .unwrap();
            assert_eq!(count, 1, "{} has a real row in {}", it.param, it.table);
            real += 1;
        }
        above.close().await.unwrap();
        real
    }

    /// A checksum of each table's rows that are this organization's, its
    /// people's or the fleet's. Left out: the audit log, which tells of
    /// refusals too, and when a credential was last used.
    pub async fn checksums(&self, world: &World) -> BTreeMap<String, String> {
        let mut above = world.server.database.superuser().await;
        let tables: Vec<(String, bool, bool, bool)> = sqlx::query_as(
            "SELECT c.relname::text, bool_or(a.attname = 'organization_id'), bool_or(a.attname = 'user_id'), bool_or(a.attname = 'id')
             FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'audit' GROUP BY 1",
        )
        .fetch_all(&mut above)
        .await
        .unwrap();
        let mut sums = BTreeMap::new();
        for (table, has_organization, has_user, has_id) in tables {
            let of = match (has_organization, has_user, has_id) {
                (true, true, _) => "organization_id = $1 OR user_id = ANY ($2)",
                (true, false, _) => "organization_id = $1",
                (false, true, _) => "user_id = ANY ($2)",
                (false, false, true) => "id = ANY ($3)",
                (false, false, false) => continue,
            };
            let statement = format!(
                "SELECT count(*)::text || ' rows, ' || md5(coalesce(string_agg(line, '|' ORDER BY line), '')) FROM (
                   SELECT (to_jsonb(t) - 'last_used_at')::text AS line FROM {table} t
                   WHERE ({of}) AND ($1::uuid, $2::uuid[], $3::uuid[]) IS NOT NULL) AS lines"
            );
            let ids: Vec<Uuid> = self.ids.values().copied().chain(self.people.iter().copied()).collect();
            let sum: String = sqlx::query_scalar(AssertSqlSafe(statement))
                .bind(self.ids["organization_id"])
                .bind(&self.people)
                .bind(ids)
                .fetch_one(&mut above)
                .await
                .unwrap();
            if !sum.starts_with("0 rows") {
                sums.insert(table, sum);
            }
        }
        above.close().await.unwrap();
        sums
    }

    /// For every permission a key of the owner's that holds all the others.
    pub async fn keys_without(&self, world: &World) -> BTreeMap<&'static str, String> {
        let mut keys = BTreeMap::new();
        for permission in Permission::ALL {
            let others: Vec<Permission> = Permission::ALL.iter().copied().filter(|it| it != permission).collect();
            keys.insert(permission.as_str(), world.key(&self.owner, &others).await);
        }
        keys
    }
}

/// The platform's own things, one of each kind.
pub async fn fleet(world: &World) -> BTreeMap<&'static str, Uuid> {
    let ids = KINDS.iter().filter(|it| !it.is_tenants).map(|it| (it.param, Uuid::now_v7())).collect();
    run(&mut world.server.database.superuser().await, FLEET, &ids).await;
    ids
}

async fn run(above: &mut PgConnection, script: &str, ids: &BTreeMap<&'static str, Uuid>) {
    let mut script = script.to_owned();
    for (param, id) in ids {
        script = script.replace(&format!("${param}"), &format!("'{id}'"));
    }
    sqlx::raw_sql(AssertSqlSafe(script)).execute(above).await.unwrap();
}

const FLEET: &str = "
    SET session_replication_role = replica; -- states are guarded by lifecycles, which are not what is tested
    INSERT INTO regions (id, name) VALUES ($region_id, 'swept');
    INSERT INTO pools (id, region_id, name, provider, isolation, isolates_vms) VALUES ($pool_id, $region_id, 'swept', 'maas', 'user_revoke', false);
    INSERT INTO nodes (id, region_id, pool_id, name, state, health) VALUES ($node_id, $region_id, $pool_id, 'swept', 'ready', 'ok');
    INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes)
      VALUES ($slot_id, $node_id, 0, 'GPU-1', '0000:01:00.0', 'NVIDIA H200', 1);
    INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ($sku_id, 'swept', 'gpu_slice', '{1}', false);
    INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at)
      VALUES (gen_random_uuid(), $sku_id, 'gpu_hour', 'on_demand', 1, 'USD', 1, app_now());
    INSERT INTO enrollment_tokens (id, hash, pool_id, expires_at) VALUES ($enrollment_token_id, 'h', $pool_id, app_now() + interval '1 day');
    INSERT INTO maintenance_windows (id, node_id, starts_at, ends_at, reason, state)
      VALUES ($maintenance_window_id, $node_id, app_now() + interval '1 hour', app_now() + interval '2 hours', 'test', 'planned');
    INSERT INTO providers (id, name, kind, pool_id, url, series, erase, max_machines, state)
      VALUES ($provider_id, 'swept', 'maas', $pool_id, 'http://maas.example.test/MAAS', 'noble', 'secure', 1, 'active');
    INSERT INTO machines (id, provider_id, pool_id, system_id, hostname, state)
      VALUES ($machine_id, $provider_id, $pool_id, 'a1', 'a1', 'discovered');
    INSERT INTO gateways (id, region_id, name, agent_url, public_url, web_domain, token_hash, token_expires_at)
      VALUES ($gateway_id, $region_id, 'swept', 'https://gateway.example.test:1', 'wss://gateway.example.test', 'web.example.test', 'h', app_now());
    INSERT INTO billing_profiles (organization_id, legal_name, address) VALUES (NULL, 'Seller', '{}')";

const TENANT: &str = "
    SET session_replication_role = replica;
    UPDATE organizations SET name = '$mark Organization' WHERE id = $organization_id;
    UPDATE projects SET name = '$mark-project' WHERE id = $project_id;
    UPDATE users SET name = '$mark Person' WHERE id IN ($user_id, $colleague_id);
    INSERT INTO sessions (id, user_id, expires_at) VALUES ($session_id, $user_id, app_now() + interval '1 day');
    INSERT INTO invitations (id, organization_id, email, role, token_hash, state, expires_at)
      VALUES ($invitation_id, $organization_id, '$mark-guest@example.test', 'viewer', sha256('$mark'), 'pending', app_now() + interval '1 day');
    INSERT INTO service_accounts (id, organization_id, name, role) VALUES ($service_account_id, $organization_id, '$mark-robot', 'member');
    INSERT INTO keys (id, hash, prefix, name, scopes, organization_id, service_account_id, expires_at)
      VALUES ($key_id, sha256('$mark-robot'), 'x', '$mark-key', '{projects:read}', $organization_id, $service_account_id, app_now() + interval '1 day');
    INSERT INTO keys (id, hash, prefix, name, scopes, user_id, expires_at)
      VALUES ($personal_key_id, sha256('$mark-own'), 'x', '$mark-own', '{projects:read}', $user_id, app_now() + interval '1 day');
    INSERT INTO policies (key, organization_id, value) VALUES ('projects.max', $organization_id, '77');
    INSERT INTO quotas (id, organization_id, sku_id, gpus) VALUES (gen_random_uuid(), $organization_id, $sku_id, 7);
    INSERT INTO ssh_keys (id, user_id, name, public_key, fingerprint)
      VALUES ($ssh_key_id, $user_id, '$mark-laptop', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIgnXTEJsvjwQcBOI3p0HN1Imf8UwJ8HyUzUGTaRF0qr $mark', 'SHA256:$mark');
    INSERT INTO allocations (id, organization_id, project_id, name, sku_id, gpus, nodes, same_fabric, login, created_by, state)
      VALUES ($allocation_id, $organization_id, $project_id, '$mark-work', $sku_id, 1, 1, false, 'g', 'test', 'active');
    INSERT INTO allocation_keys (organization_id, allocation_id, user_id, ssh_key_id, place)
      VALUES ($organization_id, $allocation_id, $user_id, $ssh_key_id, 1);
    INSERT INTO allocation_parts (organization_id, allocation_id, node_id, gpus, slots)
      VALUES ($organization_id, $allocation_id, $node_id, '{}', ARRAY[$slot_id::uuid]);
    INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id, sku_id, unit,
        price_kind, quantity, currency, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
      VALUES ($organization_id, 'allocation', $allocation_id, 'gpu_time', 1, 'start', app_now(), 1, $project_id, $allocation_id, $sku_id, 'gpu_hour',
        'on_demand', 1, 'USD', 0, 1, 0, 0, ARRAY[$node_id::uuid], '{}', 'active');
    INSERT INTO open_intervals (organization_id, subject_id, meter, interval, project_id)
      VALUES ($organization_id, $allocation_id, 'gpu_time', 1, $project_id);
    INSERT INTO work (kind, id, due_at) VALUES ('allocation', $allocation_id, app_now() + interval '1 day');
    INSERT INTO webhooks (id, organization_id, url, events, state)
      VALUES ($webhook_id, $organization_id, 'https://$mark.example.test/hook', '{*}', 'active');
    INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event_id, subject, at, correlation_id, data, state, next_attempt_at)
      VALUES ($delivery_id, $organization_id, $webhook_id, gen_random_uuid(), 'project.created', app_now(), '$mark', '{}', 'exhausted', NULL);
    INSERT INTO dead_letters (id, consumer, message_id, subject, organization_id, at, correlation_id, data, state, error)
      VALUES ($dead_letter_id, 'webhooks', gen_random_uuid(), 'project.created', $organization_id, app_now(), '$mark', '{}', 'exhausted', '$mark');
    INSERT INTO notifications (id, user_id, organization_id, kind, cause, title, body)
      VALUES ($notification_id, $user_id, $organization_id, 'wallet_low', gen_random_uuid(), '$mark', '$mark');
    INSERT INTO mails (id, user_id, organization_id, kind, cause, title, body, state)
      VALUES (gen_random_uuid(), $user_id, $organization_id, 'wallet_low', gen_random_uuid(), '$mark', '$mark', 'sent');
    INSERT INTO mfa_factors (id, user_id, kind, name, credential_id, public_key, sign_count)
      VALUES ($factor_id, $colleague_id, 'passkey', '$mark-token', sha256('$mark'), '', 0);
    INSERT INTO maintenance_notices VALUES ($organization_id, $project_id, $maintenance_window_id);
    INSERT INTO accounts (organization_id, kind, currency) VALUES ($organization_id, 'wallet', 'USD');
    INSERT INTO wallets (organization_id, currency) VALUES ($organization_id, 'USD');
    INSERT INTO journals (organization_id, number, id, kind, at, actor, reason, hash)
      VALUES ($organization_id, 1, $journal_id, 'credit', app_now(), 'test', '$mark', '');
    INSERT INTO corrections (id, organization_id, kind, state, currency, amount, reason, proposed_by, expires_at)
      VALUES ($correction_id, $organization_id, 'credit', 'proposed', 'USD', 1, '$mark', 'test', app_now() + interval '1 day');
    INSERT INTO budgets (id, organization_id, project_id, subject_id, amount_micros, currency, period, mode, thresholds)
      VALUES ($budget_id, $organization_id, $project_id, $project_id, 7000000, 'USD', 'month', 'notify', '{50}');
    INSERT INTO billing_profiles (organization_id, legal_name, address) VALUES ($organization_id, '$mark Incorporated', '{}');
    INSERT INTO invoices (id, organization_id, year, serial, kind, period_start, period_end, issued_at, currency, seller, buyer, lines,
        subtotal_micros, rounding_micros, tax_micros, total_micros, paid_micros, due_micros, journals, pdf)
      VALUES ($invoice_id, $organization_id, 2026, $serial, 'invoice', '2026-01-01Z', '2026-02-01Z', app_now(), 'USD',
        '{\"legal_name\": \"Seller\", \"address\": []}', '{\"legal_name\": \"$mark\", \"address\": []}', '[]', 0, 0, 0, 0, 0, 0, 1, '$mark');
    INSERT INTO payments (id, organization_id, currency, amount, provider, created_by, state, intent_id)
      VALUES ($payment_id, $organization_id, 'USD', 1000000, 'stripe', 'test', 'succeeded', '$mark');
    INSERT INTO refunds (id, organization_id, payment_id, amount, provider, reason, created_by, state)
      VALUES ($refund_id, $organization_id, $payment_id, 10000, 'stripe', '$mark', 'test', 'failed');
    INSERT INTO access_tickets (id, organization_id, project_id, allocation_id, hash, session_id, node_id, kind, actor, expires_at)
      VALUES ($access_ticket_id, $organization_id, $project_id, $allocation_id, sha256('$mark'), gen_random_uuid(), $node_id, 'terminal', 'test',
        app_now() + interval '1 hour');
    INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id, user_id, address, gateway_id,
        generation, grace_seconds, until, state, is_shared)
      VALUES ($access_session_id, $organization_id, $project_id, $allocation_id, $node_id, 'terminal', 'test', $user_id, $user_id, '192.0.2.77',
        $gateway_id, 1, 60, app_now() + interval '1 hour', 'open', true);
    INSERT INTO recordings (id, organization_id, session_id, has_input, state, sealed_at, root)
      VALUES ($recording_id, $organization_id, $access_session_id, false, 'sealed', app_now(), '$mark')";
