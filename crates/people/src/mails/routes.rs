//! What became of mails, for operators.

use contract::{
    Page,
    mails::{ListMails, Mail},
};

use super::store;
use crate::PeopleArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListMails> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListMails>) -> Result<Page<Mail>, Failure> {
        let domain = self.sending.as_ref().map_or("", |it| it.post.domain());
        let rows = store::list(&mut call.tx, &request.query, domain).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
