//! People, organizations and keys, made straight in the database so that a
//! test says only what it is about.

use client::Client;
use contract::{
    Email, Name, Permission, PersonName, Role, Word,
    id::{OrganizationId, ProjectId, UserId},
    permission::PlatformRole,
};
use kernel::{Access, Tx, clock};
use people::{
    keys::{self, Owner},
    members, organizations, projects, users,
};
use platform::forget::Forget;

use crate::Server;

/// A running server with people on it.
pub struct World {
    pub server: Server,
}

/// Somebody with a key that holds every scope; their roles limit it.
#[derive(Debug, Clone)]
pub struct Member {
    pub id: UserId,
    pub email: Email,
    pub token: String,
}

pub const PASSWORD: &str = "correct horse battery"; // secret-scan: allow

impl World {
    pub async fn new() -> World {
        World { server: Server::start().await }
    }

    pub async fn on(server: Server) -> World {
        World { server }
    }

    async fn tx(&self) -> Tx {
        Tx::system(&self.server.control_plane.db, "testkit", Access::Write).await.unwrap()
    }

    /// A person who belongs nowhere yet.
    pub async fn person(&self) -> Member {
        self.person_with(None).await
    }

    pub async fn operator(&self) -> Member {
        self.person_with(Some(PlatformRole::Operator)).await
    }

    pub async fn person_with(&self, platform_role: Option<PlatformRole>) -> Member {
        let mut tx = self.tx().await;
        let email: Email = format!("p{}@example.test", uuid::Uuid::now_v7().simple()).parse().unwrap();
        let name: PersonName = "Test Person".parse().unwrap();
        let id = users::insert(&mut tx, &email, &name, None).await.unwrap().unwrap();
        users::set_platform_role(&mut tx, id, platform_role).await.unwrap();
        let token = mint(&mut tx, Owner::Person(id), Permission::ALL).await;
        tx.commit().await.unwrap();
        Member { id, email, token }
    }

    /// Somebody who can sign in with [`PASSWORD`].
    pub async fn person_with_password(&self) -> Member {
        let person = self.person().await;
        let hash = self.server.control_plane.people.passwords.hash(PASSWORD).await.unwrap();
        let mut tx = self.tx().await;
        users::set_password(&mut tx, person.id, &hash).await.unwrap();
        tx.commit().await.unwrap();
        person
    }

    pub async fn organization(&self) -> (OrganizationId, Member) {
        let owner = self.person().await;
        let organization = OrganizationId::generate();
        let mut tx = self.tx().await;
        let name: Name = "Test Organization".parse().unwrap();
        organizations::add(&mut tx, organization, &name).await.unwrap();
        members::join(&mut tx, organization, owner.id, Role::Owner).await.unwrap();
        tx.commit().await.unwrap();
        self.server.control_plane.recognizer.forget();
        (organization, owner)
    }

    pub async fn member_of(&self, organization: OrganizationId, role: Role) -> Member {
        let person = self.person().await;
        let mut tx = self.tx().await;
        members::join(&mut tx, organization, person.id, role).await.unwrap();
        tx.commit().await.unwrap();
        person
    }

    pub async fn project(&self, organization: OrganizationId) -> ProjectId {
        let mut tx = self.tx().await;
        let name: Name = format!("p-{}", uuid::Uuid::now_v7().simple()).parse().unwrap();
        let id = projects::add(&mut tx, organization, &name).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// Another key of a person, limited to scopes.
    pub async fn key(&self, person: &Member, scopes: &[Permission]) -> String {
        let mut tx = self.tx().await;
        let token = mint(&mut tx, Owner::Person(person.id), scopes).await;
        tx.commit().await.unwrap();
        token
    }

    pub fn as_(&self, member: &Member) -> Client {
        self.server.client(Some(&member.token))
    }
}

async fn mint(tx: &mut Tx, owner: Owner, scopes: &[Permission]) -> String {
    let expires_at = clock::now(tx).await.unwrap() + std::time::Duration::from_secs(86_400);
    let name: Name = "test".parse().unwrap();
    let new = keys::mint(tx, owner, &name, scopes, expires_at).await.unwrap();
    new.secret.expose().to_owned()
}

/// Every word of a kind, for tests over all of them.
pub fn all<W: Word>() -> &'static [W] {
    W::ALL
}

/// Sets a policy for the whole platform, as an operator.
pub async fn set_policy(operator: &Client, key: &str, value: &str) {
    use contract::policies::{PlatformPolicyPath, PolicyValue, SetPlatformPolicy};
    let path = PlatformPolicyPath { key: key.to_owned() };
    let body = PolicyValue { value: value.to_owned() };
    operator.call::<SetPlatformPolicy>(path, Default::default(), body).await.unwrap();
}
