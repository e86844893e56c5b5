//! The keys that wrap data keys. The first one seals; the others only open
//! what was sealed before they were rotated out.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    str::FromStr,
};

use aws_lc_rs::aead::{AES_256_GCM, RandomizedNonceKey};
use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::zeroize::Zeroizing;

use super::{Secret, SecretsError, random_bytes};

pub(super) const KEY_BYTES: usize = 32;
const ID_LENGTHS: std::ops::RangeInclusive<usize> = 1..=32;

/// Names a key in sealed bytes, logs and errors; not a secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = SecretsError;

    fn from_str(text: &str) -> Result<Self, SecretsError> {
        let allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"._-".contains(&it);
        if !ID_LENGTHS.contains(&text.len()) || !text.bytes().all(allowed) {
            return Err(SecretsError::Malformed);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub struct Keyring {
    active: KeyId,
    keys: BTreeMap<KeyId, RandomizedNonceKey>,
}

impl Keyring {
    /// Reads entries `id:base64key`, one a line or parted by commas (for an
    /// environment variable); `#` starts a comment line. The first is active:
    /// to rotate, put a new entry on top and keep the old ones below.
    pub fn parse(text: &str) -> Result<Self, SecretsError> {
        let entries = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(|line| line.split(','))
            .map(str::trim)
            .filter(|entry| !entry.is_empty());
        let mut active = None;
        let mut keys = BTreeMap::new();
        for (index, entry) in entries.enumerate() {
            let (id, key) = parse_entry(entry).ok_or(SecretsError::BadEntry { entry: index + 1 })?;
            active.get_or_insert_with(|| id.clone());
            if keys.insert(id.clone(), key).is_some() {
                return Err(SecretsError::DuplicateKey { id });
            }
        }
        let active = active.ok_or(SecretsError::EmptyKeyring)?;
        Ok(Self { active, keys })
    }

    /// A new entry with a random key, as [`Keyring::parse`] reads it.
    pub fn generate_entry() -> Secret {
        let id = u64::from_be_bytes(*random_bytes());
        let key = Zeroizing::new(STANDARD.encode(random_bytes::<KEY_BYTES>()));
        format!("k{id:016x}:{}", *key).into()
    }

    /// Reads the keyring file, or makes one that only its owner can read.
    pub fn load_or_generate(path: &Path) -> Result<Self, SecretsError> {
        let failed = |source| SecretsError::File { path: path.to_owned(), source };
        if !path.try_exists().map_err(failed)? {
            generate_file(path).map_err(failed)?;
        }
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(SecretsError::Exposed { path: path.to_owned() });
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(failed)?);
        Self::parse(&text)
    }

    /// The key that seals.
    pub fn active(&self) -> &KeyId {
        &self.active
    }

    pub fn key_ids(&self) -> impl Iterator<Item = &KeyId> {
        self.keys.keys()
    }

    pub(super) fn key(&self, id: &KeyId) -> Result<&RandomizedNonceKey, SecretsError> {
        self.keys.get(id).ok_or_else(|| SecretsError::UnknownKey { id: id.clone() })
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("active", &self.active).field("keys", &self.keys.keys()).finish()
    }
}

fn parse_entry(entry: &str) -> Option<(KeyId, RandomizedNonceKey)> {
    let (id, key) = entry.split_once(':')?;
    let key = Zeroizing::new(STANDARD.decode(key.trim()).ok()?);
    // The length is checked here, because it is what people get wrong.
    if key.len() != KEY_BYTES {
        return None;
    }
    let key = RandomizedNonceKey::new(&AES_256_GCM, &key).ok()?;
    Some((id.trim().parse().ok()?, key))
}

/// Several processes may start at once: each writes a file of its own, and the
/// link, which fails where one exists, decides whose key becomes the keyring.
fn generate_file(path: &Path) -> io::Result<()> {
    let entry = Keyring::generate_entry();
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{:016x}", u64::from_be_bytes(*random_bytes())));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(entry.expose())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    })();
    let removed = fs::remove_file(&draft);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> String {
        Keyring::generate_entry().expose_text().unwrap().to_owned()
    }

    #[test]
    fn the_first_entry_is_active_in_a_file_and_in_a_variable() {
        let (new, old) = (entry(), entry());
        let id = new.split(':').next().unwrap();
        for text in [format!("# rotated in May\n{new}\n\n  {old}  \n"), format!("{new},{old}")] {
            let keyring = Keyring::parse(&text).unwrap();
            assert_eq!(keyring.active().as_str(), id);
            assert_eq!(keyring.key_ids().count(), 2);
        }
    }

    #[test]
    fn a_bad_entry_is_named_and_its_key_is_not_printed() {
        let good = entry();
        for bad in ["k", "k:", "k:AAAA", "K:x", ":x", "k:é"] {
            let error = Keyring::parse(&format!("{good}\n{bad}")).unwrap_err();
            assert!(matches!(error, SecretsError::BadEntry { entry: 2 }), "{bad}: {error}");
        }
        let twice = Keyring::parse(&format!("{good}\n{good}")).unwrap_err();
        assert!(matches!(twice, SecretsError::DuplicateKey { .. }));
        assert!(matches!(Keyring::parse("# nothing\n"), Err(SecretsError::EmptyKeyring)));
        let (_, key) = good.split_once(':').unwrap();
        let shown = format!("{:?} {twice}", Keyring::parse(&good).unwrap());
        assert!(!shown.contains(key), "{shown}");
    }

    #[test]
    fn a_generated_file_is_private_and_stays_the_same() {
        let folder = std::env::temp_dir().join(format!("keyring-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("keyring");
        let first = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Keyring::load_or_generate(&path).unwrap().active)).collect();
            let ids: Vec<_> = starts.into_iter().map(|it| it.join().unwrap()).collect();
            assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
            ids[0].clone()
        });
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Keyring::load_or_generate(&path).unwrap().active, first);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(Keyring::load_or_generate(&path), Err(SecretsError::Exposed { .. })));
        fs::remove_dir_all(&folder).unwrap();
    }
}
