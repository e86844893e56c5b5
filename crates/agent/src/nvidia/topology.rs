//! What sits close to a GPU on the bus, from the kernel's tree of devices.

use std::path::{Path, PathBuf};

/// A GPU's place in the tree.
pub(super) struct TreePosition {
    folder: PathBuf,
}

impl TreePosition {
    /// NVML writes the domain with eight digits, the kernel with four.
    pub fn of(pci: &str) -> Self {
        let name = kernel_name(pci);
        let link = Path::new("/sys/bus/pci/devices").join(name);
        Self { folder: std::fs::canonicalize(&link).unwrap_or(link) }
    }

    /// Virtual machines often do not tell: the kernel then says -1.
    pub fn numa(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.folder.join("numa_node")).ok()?;
        text.trim().parse::<i64>().ok()?.try_into().ok()
    }

    /// The devices of a class that share the longest way with the GPU, if they share
    /// more than the root of the tree.
    pub fn closest(&self, class: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(class) else {
            return Vec::new();
        };
        let devices = entries.flatten().filter_map(|entry| {
            let device = std::fs::canonicalize(entry.path().join("device")).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), device))
        });
        nearest(&self.folder, devices.collect())
    }
}

fn kernel_name(pci: &str) -> String {
    let lower = pci.to_ascii_lowercase();
    match lower.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 => format!("{}:{rest}", &domain[4..]),
        _ => lower,
    }
}

/// `/sys/devices/pci0000:00` and no more is shared by everything on a socket.
const ONLY_THE_ROOT: usize = 4; // bound: components of that path, the slash included

fn nearest(place: &Path, devices: Vec<(String, PathBuf)>) -> Vec<String> {
    let shared = |other: &Path| place.components().zip(other.components()).take_while(|(a, b)| a == b).count();
    let most = devices.iter().map(|(_, path)| shared(path)).max().unwrap_or(0);
    if most <= ONLY_THE_ROOT {
        return Vec::new();
    }
    let mut names: Vec<String> = devices.into_iter().filter(|(_, path)| shared(path) == most).map(|it| it.0).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_kernel_does() {
        assert_eq!(kernel_name("00000000:1B:00.0"), "0000:1b:00.0");
        assert_eq!(kernel_name("0000:1b:00.0"), "0000:1b:00.0");
    }

    #[test]
    fn the_device_behind_the_same_switch_is_the_closest() {
        let gpu = Path::new("/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0");
        let device = |name: &str, path: &str| (name.to_owned(), PathBuf::from(path));
        let devices = vec![
            device("mlx5_1", "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0"),
            device("mlx5_0", "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0"),
        ];
        assert_eq!(nearest(gpu, devices), ["mlx5_0"]);
        let far = vec![device("nvme0", "/sys/devices/pci0000:15/0000:15:09.0/0000:20:00.0")];
        assert!(nearest(gpu, far).is_empty());
    }
}
