//! Which agents there are: binaries in a folder, by version and platform.

use std::{
    cmp::Ordering,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Mutex,
    time::SystemTime,
};

use aws_lc_rs::digest::{Context, SHA256};
use protocol::limits::MAX_AGENT_BYTES;
use tokio::{fs::File, io::AsyncReadExt};

/// A binary that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
}

/// Which state of a file a checksum is of.
type Stamp = (SystemTime, u64);

pub struct Agents {
    folder: Option<PathBuf>,
    known: Mutex<HashMap<PathBuf, (Stamp, String)>>,
    /// A whole fleet may ask for a new version at once; it is summed up once.
    summing: tokio::sync::Mutex<()>,
}

// bound: checksums that are remembered, and agents that are listed; more are never served at a time
const MAX_KNOWN: usize = 64;
// bound: one read
const CHUNK: usize = 64 * 1024;
const NAME: &str = "gpuaas-node";

impl Agents {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, known: Mutex::default(), summing: tokio::sync::Mutex::default() }
    }

    /// The binary of that version for that platform, with its checksum.
    pub async fn find(&self, version: &str, target: &str) -> Option<AgentFile> {
        let (path, stamp) = self.look(version, target).await?;
        let _turn = self.summing.lock().await;
        let known = self.lock().get(&path).filter(|(of, _)| *of == stamp).map(|(_, sha256)| sha256.clone());
        let sha256 = match known {
            Some(sha256) => sha256,
            None => {
                let sha256 = checksum(&path).await.ok()?;
                let mut known = self.lock();
                if known.len() >= MAX_KNOWN {
                    known.clear();
                }
                known.insert(path.clone(), (stamp, sha256.clone()));
                sha256
            }
        };
        Some(AgentFile { path, bytes: stamp.1, sha256 })
    }

    /// Versions and platforms that are served, newest version first.
    pub async fn list(&self) -> Vec<(String, String)> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let mut found = Vec::new();
        for version in names(folder).await {
            for target in names(&folder.join(&version)).await {
                if found.len() < MAX_KNOWN && self.look(&version, &target).await.is_some() {
                    found.push((version.clone(), target));
                }
            }
        }
        found.sort_by(|a, b| compare(&b.0, &a.0).then_with(|| a.1.cmp(&b.1)));
        found
    }

    async fn look(&self, version: &str, target: &str) -> Option<(PathBuf, Stamp)> {
        let folder = self.folder.as_ref()?;
        if !is_plain(version) || !is_plain(target) {
            return None;
        }
        let path = folder.join(version).join(target).join(NAME);
        let found = tokio::fs::metadata(&path).await.ok()?;
        let stamp = (found.modified().ok()?, found.len());
        let is_fine = found.is_file() && found.len() <= MAX_AGENT_BYTES as u64;
        is_fine.then_some((path, stamp))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, String)>> {
        self.known.lock().expect("no code panics while it holds this lock")
    }
}

/// A name that stays inside its folder.
fn is_plain(name: &str) -> bool {
    // bound: version numbers and platform names are shorter
    const MAX_NAME: usize = 64;
    let is_fine = |it: u8| it.is_ascii_alphanumeric() || b"._-+".contains(&it);
    !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.bytes().all(is_fine)
}

/// The folders in a folder, as many as are ever looked at.
async fn names(folder: &Path) -> Vec<String> {
    let Ok(mut entries) = tokio::fs::read_dir(folder).await else { return Vec::new() };
    let mut names = Vec::new();
    while names.len() < MAX_KNOWN {
        let Ok(Some(entry)) = entries.next_entry().await else { break };
        names.extend(entry.file_name().into_string().ok().filter(|it| is_plain(it)));
    }
    names
}

/// By numbers where there are numbers; a release comes after its candidates.
pub fn compare(a: &str, b: &str) -> Ordering {
    let without_build = |text: &str| text.split('+').next().unwrap_or_default().to_owned();
    let (a, b) = (without_build(a), without_build(b));
    let halves = |text: &str| match text.split_once('-') {
        Some((release, candidate)) => (release.to_owned(), Some(candidate.to_owned())),
        None => (text.to_owned(), None),
    };
    let ((a, a_candidate), (b, b_candidate)) = (halves(&a), halves(&b));
    by_parts(&a, &b).then_with(|| match (a_candidate, b_candidate) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => by_parts(&a, &b),
    })
}

fn by_parts(a: &str, b: &str) -> Ordering {
    let part = |text: &str| (text.parse::<u64>().ok(), text.to_owned());
    a.split('.').map(part).cmp(b.split('.').map(part))
}

async fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path).await?;
    let mut context = Context::new(&SHA256);
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk).await?;
        if read == 0 {
            return Ok(context.finish().as_ref().iter().map(|it| format!("{it:02x}")).collect());
        }
        context.update(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, version: &str, target: &str, bytes: &[u8]) {
        let place = folder.join(version).join(target);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(NAME), bytes).unwrap();
    }

    #[tokio::test]
    async fn a_binary_is_found_with_its_checksum_and_nothing_outside_the_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "0.2.0", "x86_64", b"binary");
        let agents = Agents::new(Some(folder.path().to_owned()));
        let found = agents.find("0.2.0", "x86_64").await.unwrap();
        assert_eq!(found.sha256, protocol::agent_binary::sha256_hex(b"binary"));
        assert_eq!(agents.find("0.2.0", "x86_64").await, Some(found));
        put(folder.path(), "0.2.0", "x86_64", b"another");
        let changed = agents.find("0.2.0", "x86_64").await.unwrap();
        assert_eq!(changed.sha256, protocol::agent_binary::sha256_hex(b"another"));
        for (version, target) in [("0.3.0", "x86_64"), ("..", "x86_64"), ("0.2.0", "../0.2.0/x86_64"), ("", "")] {
            assert_eq!(agents.find(version, target).await, None, "{version} {target}");
        }
    }

    #[tokio::test]
    async fn agents_are_listed_newest_version_first() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["0.9.0", "0.10.0", "0.10.0-rc.2", ".hidden"] {
            put(folder.path(), version, "x86_64", b"binary");
        }
        std::fs::create_dir_all(folder.path().join("1.0.0/x86_64")).unwrap();
        let listed = Agents::new(Some(folder.path().to_owned())).list().await;
        let versions: Vec<&str> = listed.iter().map(|(version, _)| version.as_str()).collect();
        assert_eq!(versions, ["0.10.0", "0.10.0-rc.2", "0.9.0"]);
        assert!(Agents::new(None).list().await.is_empty());
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let mut versions = ["1.0.0", "0.10.0", "0.9.1", "1.0.0-rc.10", "1.0.0-rc.9", "1.0.1+b7"];
        versions.sort_by(|a, b| compare(a, b));
        assert_eq!(versions, ["0.9.1", "0.10.0", "1.0.0-rc.9", "1.0.0-rc.10", "1.0.0", "1.0.1+b7"]);
    }
}
