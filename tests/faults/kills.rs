//! `kill -9` of the service again and again under load (I1, I2), on both stores.

use super::ending::{assert_all_is_well, at_rest, busy};
use super::fleet::Fleet;
use super::load::Load;
use super::service::Service;
use crate::support::site::Site;

const KILLS: usize = 6;

async fn kill_9_under_load_loses_and_doubles_nothing(site: &Site) {
    let fleet = Fleet::new(20, 1200);
    let mut service = Service::started(busy(site.start()));
    let load = Load::of(&fleet, &[service.address()]);
    let sending = load.start();
    for kill in 1..=KILLS {
        load.reaches(kill, KILLS + 1).await;
        service.kill_and_start();
    }
    sending.await.unwrap();
    let samples = at_rest(service.server()).await;
    // Kills leave retries behind, so the last life alone says little of stored;
    // nothing is refused for its value.
    assert_eq!(samples["hourglass_values_conflict_total"], 0.0);
    let (server, start) = service.into_parts();
    assert_all_is_well(server, &start, &[(&fleet, &load.acknowledged())]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_and_doubles_nothing_on_the_embedded_store() {
    kill_9_under_load_loses_and_doubles_nothing(&Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_and_doubles_nothing_on_mongodb() {
    kill_9_under_load_loses_and_doubles_nothing(&Site::mongodb().await).await;
}
