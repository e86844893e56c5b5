//! `initdb`, into a draft that is renamed when it is whole: a folder named
//! `data` is never half a cluster.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::Path,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use super::{
    DevError, SUPERUSER,
    account::command,
    log,
    place::{ClusterPaths, at, private_folder},
    server::Spec,
};

const DRAFT: &str = "data.new-";
/// The second serves systems whose C library lacks the first.
const LOCALES: [&str; 2] = ["C.UTF-8", "C"];
const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(10);

/// The major version of the cluster, or nothing if there is none yet.
pub(super) fn data_version(place: &ClusterPaths) -> Result<Option<u32>, DevError> {
    let data = &place.data;
    if !data.try_exists().map_err(at(data))? {
        return Ok(None);
    }
    fs::read_to_string(data.join("PG_VERSION"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|_| data.join("global/pg_control").is_file())
        .map(Some)
        .ok_or_else(|| DevError::NotACluster { data: data.clone() })
}

pub(super) fn init_if_missing(spec: &Spec) -> Result<(), DevError> {
    let home = &spec.place.home;
    remove_drafts(home)?;
    if spec.place.data.try_exists().map_err(at(home))? {
        return Ok(());
    }
    // A name of its own: an `initdb` that outlived us may still write to the last one.
    let draft = home.join(format!("{DRAFT}{}", uuid::Uuid::now_v7()));
    let mut result = Ok(());
    for locale in LOCALES {
        remove_drafts(home)?;
        private_folder(&draft, spec.place.account.as_ref())?;
        result = init(spec, &draft, locale);
        if result.is_ok() {
            break;
        }
    }
    result?;
    fs::rename(&draft, &spec.place.data).map_err(at(&draft))?;
    File::open(home).and_then(|it| it.sync_all()).map_err(at(home))
}

fn init(spec: &Spec, draft: &Path, locale: &str) -> Result<(), DevError> {
    let place = &spec.place;
    let program = spec.binaries.program("initdb");
    let log_file = || log::open(&place.log).map_err(at(&place.log));
    let mut initdb = command(place.account.as_ref(), &program, &place.home);
    initdb
        .arg("--pgdata")
        .arg(draft)
        .args(["--username", SUPERUSER, "--encoding=UTF8"])
        .args(["--auth-local=trust", "--auth-host=reject"])
        .arg(format!("--locale={locale}"))
        .stdout(log_file()?)
        .stderr(log_file()?);
    if !spec.durable {
        initdb.arg("--no-sync");
    }
    let child = initdb.spawn().map_err(|source| DevError::Run { program, source })?;
    match wait(child) {
        Some(status) if status.success() => Ok(()),
        Some(_) => Err(DevError::Init { log: place.log.clone(), said: log::tail(&place.log) }),
        None => Err(DevError::TooSlow { program: "initdb", limit_s: LIMIT.as_secs(), log: place.log.clone() }),
    }
}

fn wait(mut child: Child) -> Option<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(POLL);
    }
    // It may have ended by itself meanwhile; either way it is reaped here.
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn remove_drafts(home: &Path) -> Result<(), DevError> {
    for entry in fs::read_dir(home).map_err(at(home))?.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(DRAFT) {
            continue;
        }
        match fs::remove_dir_all(entry.path()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => other.map_err(at(&entry.path()))?,
        }
    }
    Ok(())
}
