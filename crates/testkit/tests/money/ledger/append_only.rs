//! What the database itself refuses, also to its owner.

use kernel::money::{Currency, Money};
use money::ledger::{Account, AccountKind, Journal, LedgerError, Line, Posted, post};

use crate::ledger::stand::Stand;

fn credit(stand: &Stand, micros: i64) -> Journal {
    let amount = Money::from_micros(micros, Currency::USD);
    let journal = Journal::between(stand.organization, "credit", AccountKind::Promotional, "", amount).unwrap();
    journal.by("test", "a gift")
}

async fn posted(stand: &Stand, journal: Journal) -> Posted {
    let mut tx = stand.tx().await;
    let posted = post(&mut tx, journal).await.unwrap();
    tx.commit().await.unwrap();
    posted
}

/// What a superuser is told who tries a statement.
async fn refused(stand: &Stand, statement: &str) -> String {
    let mut above = stand.world.server.database.superuser().await;
    let outcome = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut above).await;
    match outcome {
        Ok(_) => panic!("the database let through: {statement}"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_rows_stay_as_they_are_even_for_a_superuser() {
    let stand = Stand::new(2_500_000).await;
    stand.started(1).await;
    stand.advance(3600);
    stand.close().await;
    posted(&stand, credit(&stand, 5)).await;
    let changes = [
        ("usage", "at = at - interval '1 hour'"),
        ("journals", "reason = 'another'"),
        ("entries", "amount = amount * 2"),
        ("accounts", "currency = 'EUR'"),
    ];
    for (table, change) in changes {
        for statement in [
            format!("UPDATE {table} SET {change}"),
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table} CASCADE"),
        ] {
            let said = refused(&stand, &statement).await;
            assert!(said.contains("append-only"), "{statement}: {said}");
        }
    }
    for statement in [
        "UPDATE books SET posted_to = posted_to - interval '1 second'",
        "UPDATE books SET journals = journals - 1",
        "UPDATE books SET hash = 'x'",
        "DELETE FROM books",
    ] {
        let said = refused(&stand, statement).await;
        assert!(said.contains("only go forward"), "{statement}: {said}");
    }
    println!("refused: UPDATE, DELETE and TRUNCATE of usage, journals, entries, accounts; books going back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_does_not_balance_is_refused() {
    let stand = Stand::new(1).await;
    posted(&stand, credit(&stand, 5)).await;
    let organization = stand.organization.uuid();
    let journal = format!(
        "INSERT INTO journals (organization_id, number, kind, at, actor, hash) VALUES ('{organization}', 2, 'credit', app_now(), 'test', '')"
    );
    let entries = |values: &str| {
        format!(
            "BEGIN; {journal}; INSERT INTO entries (organization_id, number, line, account_id, currency, amount)
             SELECT '{organization}', 2, line, account.id, unit, amount FROM (VALUES {values}) AS v (line, kind, unit, amount)
             JOIN accounts account ON account.kind = v.kind AND account.organization_id = '{organization}'; COMMIT"
        )
    };
    let said = refused(&stand, &entries("(1, 'wallet', 'USD', 5), (2, 'promotional', 'USD', -4)")).await;
    assert!(said.contains("does not balance in USD"), "{said}");
    let said = refused(&stand, &entries("(1, 'wallet', 'USD', 5), (2, 'promotional', 'EUR', -5)")).await;
    assert!(said.contains("does not balance"), "currencies do not make up for each other: {said}");
    let said = refused(&stand, &entries("(1, 'wallet', 'EUR', 5), (2, 'promotional', 'EUR', -5)")).await;
    assert!(said.contains("another organization or currency"), "an account has one currency: {said}");
    let alone = format!(
        "INSERT INTO entries (organization_id, number, line, account_id, currency, amount)
         SELECT '{organization}', 1, 10 + row_number() OVER (), id, 'USD', CASE kind WHEN 'wallet' THEN 5 ELSE -5 END FROM accounts"
    );
    let said = refused(&stand, &alone).await;
    assert!(said.contains("journal 1 is closed"), "nothing is added to a journal of an earlier transaction: {said}");
    let (other, _) = stand.world.organization().await;
    let foreign = alone.replace(&format!("SELECT '{organization}'"), &format!("SELECT '{}'", other.uuid()));
    let said = refused(&stand, &foreign).await;
    assert!(said.contains("another organization"), "{said}");
    println!("refused: unbalanced, mixed currencies, foreign account, foreign organization, closed journal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_is_posted_once() {
    let stand = Stand::new(1).await;
    let first = posted(&stand, credit(&stand, 7).once("gift-1")).await;
    let again = posted(&stand, credit(&stand, 7).once("gift-1")).await;
    assert_eq!((again.number, again.id, again.is_repeated), (first.number, first.id, true));
    assert_eq!(stand.balance().await.posted.micros(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn reference_is_repeated_only_by_the_very_same_journal() {
    let stand = Stand::new(1).await;
    let first = posted(&stand, credit(&stand, 7).once("gift-1")).await;
    let seven = Money::from_micros(7, Currency::USD);
    let other = |kind, account, subject, amount| Journal::between(stand.organization, kind, account, subject, amount);
    for (what, journal) in [
        ("amount", credit(&stand, 8)),
        ("currency", other("credit", AccountKind::Promotional, "", Money::from_micros(7, Currency::EUR)).unwrap()),
        ("kind", other("adjustment", AccountKind::Promotional, "", seven).unwrap()),
        ("account", other("credit", AccountKind::WriteOffs, "", seven).unwrap()),
        ("subject", other("credit", AccountKind::Promotional, "spring", seven).unwrap()),
    ] {
        let mut tx = stand.tx().await;
        let refused = post(&mut tx, journal.once("gift-1")).await;
        assert!(
            matches!(refused, Err(LedgerError::ReferenceReused(number)) if number == first.number),
            "another {what}: {refused:?}"
        );
    }
    assert_eq!(stand.balance().await.posted.micros(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_is_the_sum_with_or_without_checkpoints() {
    let stand = Stand::new(1).await;
    for amount in 1..=600 {
        posted(&stand, credit(&stand, amount)).await;
    }
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM checkpoints").await, 2);
    assert_eq!(stand.balance().await.posted.micros(), 600 * 601 / 2);
    stand.run("DELETE FROM checkpoints").await;
    assert_eq!(stand.balance().await.posted.micros(), 600 * 601 / 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn journals_of_many_at_once_are_numbered_without_gaps() {
    let stand = std::sync::Arc::new(Stand::new(1).await);
    let all: Vec<_> = (0..40)
        .map(|_| {
            let stand = stand.clone();
            tokio::spawn(async move { posted(&stand, credit(&stand, 1)).await.number })
        })
        .collect();
    let mut numbers = Vec::new();
    for one in all {
        numbers.push(one.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<i64>>());
    let lines = Line { account: Account::wallet(Currency::USD), amount: 1 };
    let bad = Journal { lines: vec![lines.clone(), lines], ..credit(&stand, 1) };
    let mut tx = stand.tx().await;
    assert!(post(&mut tx, bad).await.unwrap_err().to_string().contains("do not sum to zero in USD"));
}
