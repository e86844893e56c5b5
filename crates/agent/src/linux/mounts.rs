//! What a tenant mounted, or had mounted, goes before the folders that it is mounted
//! on: one whose server is gone can be neither read nor removed.

use super::command::{run, tool};
use crate::steps::{Failure, Result};
use crate::workloads::login::processes::Ids;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

const ROUNDS: usize = 8; // bound: one is enough, unless something was hidden by what is above it

const POINT: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Nothing is mounted at or below the folders, and nowhere a file system that
/// programs of the ids served. What still uses it keeps it until it ends.
pub(crate) async fn detach(folders: &[&Path], ids: &Ids) -> Result<()> {
    let folders: Vec<PathBuf> = folders.iter().map(|folder| as_listed(folder)).collect();
    let mut last = String::new();
    for _ in 0..ROUNDS {
        let table = std::fs::read("/proc/self/mountinfo");
        let table = table.map_err(|error| Failure::passing("home", format!("mounts cannot be read: {error}")))?;
        let found = points(&table, &folders, ids);
        if found.is_empty() {
            return Ok(());
        }
        for point in found {
            tracing::warn!(point = %point.display(), "a mount in the home of a removed login was detached");
            // One that was below another is gone with it: the next look tells.
            if let Err(error) = detach_one(&point).await {
                last = format!("{}: {error}", point.display());
            }
        }
    }
    Err(Failure::passing("home", format!("a mount is still present; {last}")))
}

/// As the kernel lists it. The last part is left as it is: looking at it may fail.
fn as_listed(folder: &Path) -> PathBuf {
    let above = folder.parent().and_then(|above| above.canonicalize().ok());
    above.zip(folder.file_name()).map_or_else(|| folder.to_owned(), |(above, name)| above.join(name))
}

/// Mount points to detach, those above others first: what is below goes with them.
fn points(table: &[u8], folders: &[PathBuf], ids: &Ids) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let mut found: Vec<PathBuf> = lines.filter_map(|line| point(line, folders, ids)).collect();
    found.sort_by_key(|point| point.as_os_str().len());
    found
}

fn point(line: &[u8], folders: &[PathBuf], ids: &Ids) -> Option<PathBuf> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = PathBuf::from(unescaped(fields.nth(4)?));
    let mut behind = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, options) = (behind.next()?, behind.nth(1)?);
    let is_served = || kind.starts_with(b"fuse") && owner(options).is_some_and(|uid| has(ids, uid));
    (folders.iter().any(|folder| point.starts_with(folder)) || is_served()).then_some(point)
}

fn owner(options: &[u8]) -> Option<u32> {
    let mut options = std::str::from_utf8(options).ok()?.split(',');
    options.find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
}

fn has(ids: &Ids, uid: u32) -> bool {
    ids.iter().any(|range| range.contains(&uid))
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(bytes)
}

/// From the folder that it is in: a whole path may be longer than the kernel takes.
async fn detach_one(point: &Path) -> std::result::Result<(), String> {
    let (above, name) = point.parent().zip(point.file_name()).ok_or("the path is the root directory")?;
    let above = walk(above).map_err(|error| error.to_string())?;
    let mut umount = tool("umount", &["--internal-only", "--no-canonicalize", "--lazy"]);
    umount.arg(beside(name)).current_dir(format!("/proc/self/fd/{}", above.as_raw_fd()));
    let ended = run(umount).await?;
    if ended.is_success() { Ok(()) } else { Err(ended.said) }
}

/// Not to be taken for an option.
fn beside(name: &OsStr) -> OsString {
    OsString::from_vec([b"./", name.as_bytes()].concat())
}

fn walk(path: &Path) -> io::Result<OwnedFd> {
    let mut folder = nix::fcntl::open("/", POINT, Mode::empty())?;
    for part in path.components() {
        if let Component::Normal(name) = part {
            folder = openat(&folder, name, POINT, Mode::empty())?;
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_home_or_served_by_the_login_is_detached() {
        let table = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            21 20 0:40 / /home/ga/deep/er rw shared:1 master:2 - tmpfs none rw\n\
            22 20 0:41 / /home/ga\\040b rw - tmpfs none rw\n\
            23 20 0:42 / /home/ga rw,nosuid - ext4 /dev/sdb rw\n\
            24 20 0:43 / /tmp/\\134 rw - fuse.sshfs host: rw,user_id=7,group_id=7\n\
            25 20 0:44 / /tmp/other rw - fuse.sshfs host: rw,user_id=8,group_id=7\n\
            26 20 0:45 / /tmp/root rw - tmpfs none rw,user_id=7\n\n";
        let found = points(table, &["/home/ga".into()], &vec![7..=7]);
        assert_eq!(found, [Path::new("/tmp/\\"), Path::new("/home/ga"), Path::new("/home/ga/deep/er")]);
    }
}
