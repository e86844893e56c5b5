//! The few files that a sandbox has besides the machine's own programs.

use super::Occupant;

pub struct Files {
    pub passwd: String,
    pub group: String,
    pub profile: String,
    pub bashrc: String,
    pub hosts: String,
    pub nvidia_smi: String,
}

impl Files {
    pub fn for_occupant(occupant: &Occupant) -> Self {
        let Occupant { node, user, model, gpus, .. } = occupant;
        let count = gpus.len();
        let bashrc = "PS1='\\[\\e[32m\\]\\u@\\h\\[\\e[0m\\]:\\w\\$ '\nalias ls='ls --color=auto'\n".to_owned();
        let profile = format!(
            "export CUDA_VISIBLE_DEVICES={visible}\n\
             [ -z \"$PS1\" ] || . /etc/bash.bashrc\n\
             [ -z \"$PS1\" ] || echo 'simulated node {node}: {count} x {model}; the shell is real, the GPUs are not'\n\
             true\n",
            visible = gpus.iter().map(|(uuid, _)| uuid.as_str()).collect::<Vec<_>>().join(","),
        );
        Self {
            passwd: format!(
                "root:x:0:0:root:/:/bin/false\n{user}:x:1000:1000:allocation:/home/{user}:/bin/bash\n\
                 nobody:x:65534:65534:nobody:/:/bin/false"
            ),
            group: format!("root:x:0:\n{user}:x:1000:\nnogroup:x:65534:"),
            profile,
            bashrc,
            hosts: format!("127.0.0.1 localhost {node}\n::1 localhost"),
            nvidia_smi: nvidia_smi(occupant),
        }
    }
}

/// Lists the login's GPUs, as a table or with `-L`.
fn nvidia_smi(occupant: &Occupant) -> String {
    let Occupant { model, memory_mib, gpus, .. } = occupant;
    let rule = "+-----------------------------------------------------------------------------+";
    let mut table =
        format!("{rule}\n| NVIDIA-SMI 580.00-sim     simulated GPUs                                      |\n{rule}\n");
    let mut list = String::new();
    for (index, (uuid, pci)) in gpus.iter().enumerate() {
        let name = format!("{index:>3}  {model:<28.28} {pci}");
        table.push_str(&format!("| {name:<57} 0MiB / {memory_mib:>7}MiB |\n"));
        list.push_str(&format!("GPU {index}: {model} (UUID: {uuid})\n"));
    }
    if gpus.is_empty() {
        table.push_str("| No devices were found                                                       |\n");
        list.push_str("No devices were found\n");
    }
    table.push_str(rule);
    format!(
        "#!/bin/sh\ncase \"$1\" in -L|--list-gpus) cat <<'LIST'\n{list}LIST\n;; *) cat <<'TABLE'\n{table}\nTABLE\n;; esac"
    )
}
