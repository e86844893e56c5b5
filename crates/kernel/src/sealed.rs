//! Columns whose values are sealed, each for its own row: sealing, opening and
//! the move to another key. Secrets that no row owns are in the vault.

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::{
    secrets::{Keyring, Sealed, Secret, SecretsError},
    tx::Tx,
    vault::VaultError,
};

// bound: rows that are in memory at once while they move
const PAGE: i64 = 1000;

/// A column that holds sealed values, or null.
pub struct SealedColumn {
    pub table: &'static str,
    pub column: &'static str,
    /// With the row's id, what a value is sealed for. Never changed once
    /// values are stored: they would not open.
    pub prefix: &'static str,
}

impl SealedColumn {
    pub fn seal(&self, keyring: &Keyring, id: Uuid, plaintext: &[u8]) -> Vec<u8> {
        keyring.seal(&self.context(id), plaintext).to_bytes()
    }

    pub fn open(&self, keyring: &Keyring, id: Uuid, sealed: &[u8]) -> Result<Secret, SecretsError> {
        keyring.open(&self.context(id), &Sealed::from_bytes(sealed)?)
    }

    /// Moves every value to the keyring's active key; returns how many moved.
    pub async fn rewrap(&self, tx: &mut Tx, keyring: &Keyring) -> Result<u64, VaultError> {
        let label = format!("'{}' || id", self.prefix);
        rewrap(tx, keyring, [self.table, self.column, &label], |label, _| label.to_owned()).await
    }

    fn context(&self, id: Uuid) -> String {
        format!("{}{id}", self.prefix)
    }
}

/// Moves a column to the active key. The label is what an error calls a row;
/// with the row's id it gives what the value is sealed for.
pub(crate) async fn rewrap(
    tx: &mut Tx,
    keyring: &Keyring,
    [table, column, label]: [&str; 3],
    context: impl Fn(&str, Uuid) -> String,
) -> Result<u64, VaultError> {
    let select = format!(
        "SELECT id, {label}, {column} FROM {table} WHERE id > $1 AND {column} IS NOT NULL
         ORDER BY id LIMIT {PAGE} FOR UPDATE"
    );
    let update = format!("UPDATE {table} SET {column} = $2 WHERE id = $1");
    let (mut after, mut moved) = (Uuid::nil(), 0);
    loop {
        let page: Vec<(Uuid, String, Vec<u8>)> =
            sqlx::query_as(AssertSqlSafe(select.as_str())).bind(after).fetch_all(tx.conn()).await?;
        let Some((last, ..)) = page.last() else { return Ok(moved) };
        after = *last;
        for (id, name, bytes) in page {
            let refused = |source| VaultError::Sealed { name: name.clone(), source };
            let sealed = Sealed::from_bytes(&bytes).map_err(refused)?;
            if sealed.key_id() == keyring.active() {
                continue;
            }
            let sealed = keyring.rewrap(&context(&name, id), &sealed).map_err(refused)?;
            sqlx::query(AssertSqlSafe(update.as_str())).bind(id).bind(sealed.to_bytes()).execute(tx.conn()).await?;
            moved += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_opens_in_its_own_row_and_column_only() {
        let keyring = Keyring::parse(Keyring::generate_entry().expose_text().unwrap()).unwrap();
        let column = |prefix| SealedColumn { table: "machines", column: "token", prefix };
        let (id, machines) = (Uuid::now_v7(), column("machine:"));
        let sealed = machines.seal(&keyring, id, b"token");
        assert_eq!(machines.open(&keyring, id, &sealed).unwrap().expose(), b"token");
        assert!(machines.open(&keyring, Uuid::now_v7(), &sealed).is_err());
        assert!(column("provider:").open(&keyring, id, &sealed).is_err());
    }
}
