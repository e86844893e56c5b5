//! Device files of real GPUs follow their holders. Needs root and an NVIDIA GPU;
//! `scripts/gpu-host-check.sh` builds it here and runs it on a machine that has one.
#![allow(clippy::unwrap_used)]

mod host;

use host::{Host, KEY};
use std::path::PathBuf;
use std::process::Command;

/// What a user gets of the card: opening its file, and asking the driver for GPUs.
fn tries(label: &str, uid: u32, gid: u32, groups: bool, card: &str) -> bool {
    let as_user = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
        command.arg(if groups { "--init-groups" } else { "--clear-groups" });
        let output = command.args(["sh", "-c", script]).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).trim().replace('\n', " | "))
    };
    let (opened, said) = as_user(&format!("exec 3<>{card} && echo opened"));
    let (_, listed) = as_user("nvidia-smi -L");
    let cuda = "import ctypes; cuda = ctypes.CDLL(\"libcuda.so.1\"); count = ctypes.c_int(-1); \
                code = cuda.cuInit(0); cuda.cuDeviceGetCount(ctypes.byref(count)); print(\"cuInit\", code, \"devices\", count.value)";
    let (_, computed) = as_user(&format!("python3 -c '{cuda}'"));
    println!("{label} (uid {uid}):\n  open {card}: {said}\n  nvidia-smi -L: {listed}\n  CUDA: {computed}");
    opened
}

#[tokio::test]
#[ignore = "needs a real GPU; run by scripts/gpu-host-check.sh"]
async fn card_is_open_to_its_holder_only() {
    assert!(nix::unistd::geteuid().is_root(), "run it as root");
    // Programs of the driver open the files again while its settings let them, and
    // the module cannot be loaded again here: the settings they read are covered.
    let parameters = std::fs::read_to_string("/proc/driver/nvidia/params").expect("there is a driver of NVIDIA");
    let covered = tempfile::NamedTempFile::new().unwrap();
    let fixed = parameters.replace("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0");
    std::fs::write(covered.path(), &fixed).unwrap();
    if parameters != fixed {
        std::fs::set_permissions(covered.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let mounted =
            Command::new("mount").arg("--bind").arg(covered.path()).arg("/proc/driver/nvidia/params").status();
        println!("the driver resets permissions; covered its settings: {}", mounted.is_ok_and(|it| it.success()));
    }
    let host = Host::with("e0e0", |config| {
        config.simulated_gpus = 0;
        config.device_root = "/dev".into();
    });
    let gpus = host.gpus().await;
    assert!(!gpus.is_empty(), "NVML finds no GPU here");
    let cards: Vec<PathBuf> =
        (0..16).map(|at| PathBuf::from(format!("/dev/nvidia{at}"))).filter(|it| it.exists()).collect();
    let card = cards.first().expect("there is a device file").to_str().unwrap().to_owned();
    println!("{} GPUs, first file {card}", gpus.len());
    tries("nobody, before the agent starts", 65534, 65534, false, &card);
    host.login.restore().await;
    assert!(!tries("nobody, after the agent started", 65534, 65534, false, &card));

    host.allocate_gpus(&[KEY], &[]).await.unwrap();
    let account = host.account().unwrap();
    let (uid, gid) = (account.uid.as_raw(), account.gid.as_raw());
    assert!(!tries("an allocation of zero GPUs", uid, gid, true, &card));

    let done = host.allocate_gpus(&[KEY], &gpus).await.unwrap();
    println!("allocated: {done:?}");
    assert!(tries("an allocation that holds the card", uid, gid, true, &card));
    assert!(!tries("nobody, meanwhile", 65534, 65534, false, &card));

    let done = host.release().await;
    println!("released: {done:?}");
    assert!(!tries("the same uid, after the release", uid, gid, false, &card));
    assert!(!tries("nobody, after the release", 65534, 65534, false, &card));
    let _ = Command::new("umount").arg("/proc/driver/nvidia/params").output();
}
