//! `kind: ssh_key`: one of the caller's own public keys.

use contract::{
    Name, Nothing,
    ssh_keys::{self, AddSshKey, PublicKey, RemoveSshKey, SshKeyPath, SshKeySpec, SshSignature},
};

use crate::{
    declare::{
        fields::{Fields, text},
        kind::{Creation, Kind, Lookup},
        plan::Difference,
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
    key_proof,
};

#[derive(Debug)]
pub struct SshKey {
    name: Name,
    public_key: PublicKey,
    /// Made elsewhere; without it `ssh-keygen` signs here.
    proof: Option<SshSignature>,
}

impl SshKey {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let name = fields.required("name", text);
        let public_key = fields.required("public_key", text);
        let proof = fields.optional("proof", text);
        Some(Self { name: name?, public_key: public_key?, proof })
    }

    pub fn name(&self) -> String {
        self.name.to_string()
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        Vec::new()
    }
}

/// Kind and body: the comment behind them does not make it another key.
fn essence(key: &PublicKey) -> (&str, &str) {
    let mut parts = key.as_str().split(' ');
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// Its kind and the end of its body, which differs from key to key.
fn short(key: &PublicKey) -> String {
    let (kind, body) = essence(key);
    format!("{kind} …{}", body.get(body.len().saturating_sub(12)..).unwrap_or(body))
}

impl Kind for SshKey {
    type Handle = SshKeyPath;
    const LEAVES_NO_TRACE: bool = true;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<SshKeyPath>, Failure> {
        let all = world.ssh_keys().await?;
        let is_named = |it: &&ssh_keys::SshKey| it.name.as_str().eq_ignore_ascii_case(self.name.as_str());
        let is_this = |it: &&ssh_keys::SshKey| essence(&it.public_key) == essence(&self.public_key);
        let Some(there) = all.iter().find(is_named) else {
            return Ok(match all.iter().find(is_this) {
                Some(other) => Lookup::InTheWay(format!("this key is already registered as `{}`", other.name)),
                None => Lookup::absent(),
            });
        };
        let differs = Difference::between("public_key", short(&there.public_key), short(&self.public_key), false);
        let differences = if is_this(&there) { Vec::new() } else { differs.into_iter().collect() };
        Ok(Lookup::present(SshKeyPath { ssh_key_id: there.id }, differences))
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let proof = match &self.proof {
            Some(proof) => proof.clone(),
            None => key_proof::prove(world.context, &self.public_key, None).await?,
        };
        let spec = SshKeySpec { name: self.name.clone(), public_key: self.public_key.clone(), proof };
        let made: ssh_keys::SshKey = exact::read(&world.send_once::<AddSshKey>(Nothing {}, spec, salt).await?)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }

    async fn change(&self, _: &World<'_>, _: SshKeyPath) -> Result<(), Failure> {
        unreachable!("no field of an SSH key can change in place")
    }

    async fn remove(&self, world: &World<'_>, path: SshKeyPath) -> Result<(), Failure> {
        world.context.ask::<RemoveSshKey>(path).await?;
        Ok(())
    }
}
