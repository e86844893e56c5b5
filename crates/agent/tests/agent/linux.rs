//! Real users on this machine.
#![allow(clippy::unwrap_used)]

use crate::host::{Host, KEY};
use agent::steps::{Steps, no_points};
use protocol::{Done, GpuRef, Isolation, Login, LoginSpec, Shape, WorkloadRef, WorkloadSpec};
use std::process::Command;
use std::time::Duration;

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_login_is_made_with_its_keys_and_is_removed_with_all_it_left() {
    let host = Host::new("aaaa");
    let Done::Proof { gpus, self_test, .. } = host.allocate(&[KEY]).await.unwrap() else { panic!("no proof") };
    assert_eq!((gpus.len(), self_test.passed), (2, true));
    let account = host.account().unwrap();
    assert_eq!(host.keys().unwrap(), format!("{KEY}\n"));
    assert_eq!(host.shadow(1), "*", "neither locked nor open to a password");
    // Again changes nothing.
    host.allocate(&[KEY]).await.unwrap();
    assert_eq!(host.account().unwrap().uid, account.uid);
    let shell = host.spawn(". ~/.profile; echo $CUDA_VISIBLE_DEVICES").wait_with_output().unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap().trim(), gpus.join(","));

    let marks = [format!("/tmp/{}", host.user), format!("/dev/shm/{}", host.user)];
    let script = format!("touch {} {}; trap '' TERM HUP INT; (sleep 600 & sleep 600 &); sleep 600", marks[0], marks[1]);
    let mut busy = host.spawn(&script);
    while !std::path::Path::new(&marks[1]).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let done = host.release().await;
    let Done::Evidence { processes_killed, home_removed, user_removed, gpu_processes_left, stages } = done else {
        panic!("no evidence")
    };
    assert!(processes_killed >= 1 && home_removed && user_removed && gpu_processes_left == 0);
    assert!(host.account().is_none() && !host.home().exists());
    assert!(marks.iter().all(|mark| !std::path::Path::new(mark).exists()), "files elsewhere are gone");
    let alive = Command::new("ps").args(["-o", "pid=,stat=", "-U", &account.uid.to_string()]).output().unwrap();
    let alive = String::from_utf8(alive.stdout).unwrap();
    assert!(alive.lines().all(|line| line.contains('Z')), "{alive}");
    let names: Vec<String> = stages.into_iter().map(|stage| format!("{} {} ms", stage.name, stage.took_ms)).collect();
    println!("released: {processes_killed} processes killed; {}", names.join(", "));
    let _ = busy.wait();
    // Nothing is there any more, and that is as wanted.
    assert!(matches!(host.release().await, Done::Evidence { user_removed: true, processes_killed: 0, .. }));
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_stopped_login_keeps_its_home_and_starts_again() {
    let host = Host::new("bbbb");
    host.allocate(&[KEY]).await.unwrap();
    host.spawn("echo kept > ~/work").wait().unwrap();
    let steps = &mut Steps::new(no_points());
    host.workloads.stop(steps, &host.reference(), &[]).await.unwrap();
    assert_eq!(host.shadow(7), "1", "the account has ended long ago");
    assert!(host.keys().is_none(), "and no key is left");
    host.allocate(&[KEY]).await.unwrap();
    assert_eq!(host.shadow(7), "");
    assert_eq!(std::fs::read_to_string(host.home().join("work")).unwrap(), "kept\n");
    let other = KEY.replace("a@b", "c@d");
    host.replace_keys(std::slice::from_ref(&other)).await.unwrap();
    assert_eq!(host.keys().unwrap(), format!("{other}\n"));
    host.release().await;
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn login_is_not_handed_over_while_sshd_honors_other_keys() {
    assert!(std::path::Path::new("/usr/sbin/sshd").exists(), "sshd is missing: run `scripts/bootstrap.sh --test`");
    let host = Host::new("eeee");
    let (file, key) = (host.folder.path().join("sshd_config"), host.folder.path().join("host_key"));
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().unwrap();
    assert!(made.success());
    let own = format!("HostKey {}\n", key.display());
    host.login.answer_for_sshd(file.clone());
    // No Include of what the agent wrote, a file that sshd refuses, and none at all.
    for settings in [Some(own.clone()), Some(format!("{own}Nonsense yes\n")), None] {
        match &settings {
            Some(settings) => std::fs::write(&file, settings).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let refused = host.allocate(&[KEY]).await.unwrap_err();
        assert_eq!(refused.code, "sshd", "{}", refused.detail);
        println!("{}", refused.detail);
        assert_eq!(host.shadow(7), "1", "nobody gets in");
        assert!(host.keys().is_none());
    }
    std::fs::write(&file, format!("{}{own}", host.login.sshd_settings())).unwrap();
    host.allocate(&[KEY]).await.unwrap();
    assert_eq!(host.shadow(7), "");
    // Sessions of sshd get as many open files as those of gateways.
    let limits = std::path::Path::new("/etc/security/limits.d");
    let file = limits.join(format!("gpuaas-{}.conf", host.user));
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text.contains(&format!("{} hard nofile ", host.user)), limits.is_dir(), "{text}");
    host.release().await;
    assert!(!file.exists());
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn link_target_in_a_home_is_neither_written_nor_removed_by_root() {
    let host = Host::new("cccc");
    host.allocate(&[KEY]).await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    let link = format!("rm -rf ~/.ssh; ln -s {0} ~/.ssh; ln -s {0} ~/link", outside.path().display());
    host.spawn(&link).wait().unwrap();
    host.replace_keys(&[KEY.to_owned()]).await.unwrap();
    assert_eq!(host.keys().unwrap(), format!("{KEY}\n"), "what is in the home does not matter");
    assert!(!outside.path().join("authorized_keys").exists());
    host.release().await;
    assert!(outside.path().join("precious").exists());
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn users_that_the_agent_did_not_make_are_left_alone() {
    let host = Host::new("dddd");
    let named = |user: &str| WorkloadRef::login(Shape::GpuSlice, user);
    for user in ["root", "daemon"] {
        let steps = &mut Steps::new(no_points());
        let refused = host.workloads.remove(steps, &named(user), &[], Isolation::UserRevoke).await;
        assert!(refused.is_err_and(|failure| failure.code == "foreign_user"), "{user}");
        let steps = &mut Steps::new(no_points());
        let refused = host.workloads.keys(steps, &named(user), &[]).await;
        assert!(refused.is_err_and(|failure| failure.code == "foreign_user"), "{user}");
    }
    let steps = &mut Steps::new(no_points());
    let refused = host.workloads.remove(steps, &named("../etc"), &[], Isolation::UserRevoke).await;
    assert!(refused.is_err_and(|failure| failure.code == "bad_login"));
}

#[tokio::test]
async fn a_gpu_that_is_elsewhere_or_missing_is_not_handed_over() {
    let host = Host::without_users("eeee", |_| ());
    let mut gpus = host.gpus().await;
    gpus[0].pci = "00000000:ff:00.0".into();
    let spec = |shape, gpus: &[GpuRef]| {
        let login = Login { user: host.user.clone(), keys: vec![] };
        WorkloadSpec::Login(LoginSpec { shape, gpus: gpus.to_vec(), login, self_test: true, limits: None })
    };
    for wanted in [&gpus[..1], &[GpuRef { uuid: "GPU-none".into(), pci: "0".into() }]] {
        let wanted = spec(Shape::GpuSlice, wanted);
        let refused = host.workloads.ensure(&mut Steps::new(no_points()), &wanted).await;
        assert!(refused.is_err_and(|failure| failure.code == "missing_gpu"));
    }
    let refused = host.workloads.ensure(&mut Steps::new(no_points()), &spec(Shape::MigSlice, &[])).await;
    assert!(refused.is_err_and(|failure| failure.code == "unsupported_workload"));
    assert!(host.account().is_none());
}
