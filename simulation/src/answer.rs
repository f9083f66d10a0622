//! Queries under way, and I4: what their answers may be.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use hourglass::bucket::Computed;
use hourglass::model::{HourRange, MeasureName, Micros, Order, SensorId, TimeRange};
use hourglass::query::{Completeness, Query, ReadingsQuery};
use hourglass::store::StoreError;

use crate::action::{EPOCH, HOURS, Question, SENSORS};
use crate::naive::{Identity, Moment, RECENT_READINGS, Values, View, hour_of, instants, says};

/// An instant with its values, as answered.
type Instant = (i64, Vec<(String, f64)>);

pub enum Told {
    /// Of one sensor, oldest first.
    Readings(&'static str, Vec<Instant>),
    Hourly(Vec<(String, i32, Computed)>),
    Latest(Vec<(String, Option<Instant>)>),
    /// The newest readings of one sensor, newest first.
    Recent(&'static str, Vec<Instant>),
}

/// A query under way.
pub struct Asked {
    pub future: BoxFuture<'static, Result<(Completeness, Told), StoreError>>,
    /// Whether it streams: an outage can then only end it with an error.
    pub is_stream: bool,
    /// What there was when it began.
    pub start: Moment,
    /// The instants that records had among the newest readings when it began.
    pub in_records: Vec<(String, i64)>,
    /// Whether another process wrote: what it stores is in records once it tells
    /// of it, which is later than its buckets.
    pub other_wrote: bool,
    /// Whether everything acknowledged was applied when it began.
    pub acknowledged_applied: bool,
    /// Whether everything durable was applied when it began.
    pub durable_applied: bool,
    /// Whether the store was away at any time since.
    pub was_away: bool,
    /// While a deletion is open, either of before and after may be seen.
    pub was_deleting: bool,
}

pub fn range() -> TimeRange {
    TimeRange {
        from: Micros::new(EPOCH).unwrap(),
        to: Micros::new(EPOCH + HOURS * 3_600_000_000).unwrap(),
    }
}

fn sensors() -> Vec<SensorId> {
    SENSORS
        .iter()
        .map(|id| SensorId::new(id).unwrap())
        .collect()
}

fn plain(values: &[(MeasureName, f64)]) -> Vec<(String, f64)> {
    let values = values.iter();
    values.map(|(m, v)| (m.as_str().to_owned(), *v)).collect()
}

/// Begins a query; nothing happens until it is polled.
pub fn ask(
    query: Query,
    sensor: usize,
    question: Question,
) -> BoxFuture<'static, Result<(Completeness, Told), StoreError>> {
    Box::pin(async move {
        match question {
            Question::Readings { descending } => {
                let sensor = SENSORS[sensor];
                let order = match descending {
                    true => Order::Descending,
                    false => Order::Ascending,
                };
                let question = ReadingsQuery {
                    sensor: SensorId::new(sensor).unwrap(),
                    range: range(),
                    measures: Vec::new(),
                    order,
                };
                let mut answer = query.readings(question).await?;
                let mut readings = Vec::new();
                while let Some(hour) = answer.hours.next().await {
                    let hour = hour?.readings;
                    readings.extend(hour.iter().map(|(at, v)| (at.get(), plain(v))));
                }
                if descending {
                    readings.reverse();
                }
                Ok((answer.completeness, Told::Readings(sensor, readings)))
            }
            Question::Hourly => {
                let hours: HourRange = range().hours();
                let answer = query.hourly(&sensors(), hours).await?;
                let mut told = Vec::new();
                for of in answer.sensors {
                    let hours = of.hours.into_iter();
                    let id = of.sensor.as_str();
                    told.extend(hours.map(|(hour, c)| (id.to_owned(), hour.hours(), c)));
                }
                Ok((answer.completeness, Told::Hourly(told)))
            }
            Question::Latest => {
                let answer = query.latest(&sensors()).await?;
                let latest = |(sensor, latest): (SensorId, Option<_>)| {
                    let latest =
                        latest.map(|l: hourglass::query::Latest| (l.at.get(), plain(&l.values)));
                    (sensor.as_str().to_owned(), latest)
                };
                let told = answer.sensors.into_iter().map(latest).collect();
                Ok((answer.completeness, Told::Latest(told)))
            }
            Question::Recent => {
                let sensor = SENSORS[sensor];
                let id = SensorId::new(sensor).unwrap();
                let answer = query.sensor(&id).await?;
                let recent = answer.sensor.map(|known| known.recent.readings);
                let recent = recent.unwrap_or_default().into_iter();
                let recent = recent.map(|r| (r.at.get(), plain(&r.values))).collect();
                Ok((answer.completeness, Told::Recent(sensor, recent)))
            }
        }
    })
}

impl Asked {
    /// Whether the answer, given now, is allowed.
    pub fn check(
        &self,
        answer: Result<(Completeness, Told), StoreError>,
        view: &View,
    ) -> Result<(), String> {
        let (completeness, told) = match answer {
            Ok(answer) => answer,
            Err(StoreError::Unavailable { .. }) if self.was_away && self.is_stream => {
                return Ok(());
            }
            Err(error) => return Err(format!("I4: a query failed: {error}")),
        };
        match completeness {
            Completeness::Complete if !self.acknowledged_applied => {
                return Err("I4: an answer that may miss a backlog says it is complete".into());
            }
            Completeness::Backlog if self.durable_applied => {
                return Err("I4: an answer speaks of a backlog where there is none".into());
            }
            Completeness::StoreAway if !self.was_away => {
                return Err("I4: an answer says that the store is away, it is there".into());
            }
            // It holds what the buffer holds, no more is promised.
            Completeness::StoreAway => return Ok(()),
            _ if self.was_deleting => return Ok(()),
            _ => {}
        }
        // A start that has not applied its journal has not told either what was
        // stored and not told before, and says so.
        let may_lack = self.other_wrote || completeness == Completeness::Backlog;
        match told {
            Told::Readings(sensor, readings) => self.check_readings(sensor, &readings, view),
            Told::Hourly(hours) => self.check_hourly(&hours, view),
            Told::Latest(latest) => self.check_latest(&latest, view, may_lack),
            Told::Recent(sensor, recent) => self.check_recent(sensor, &recent, view, may_lack),
        }
    }

    /// Readings of one sensor: ordered, each once, and each hour as it was at
    /// some moment since the query began.
    fn check_readings(
        &self,
        sensor: &str,
        readings: &[Instant],
        view: &View,
    ) -> Result<(), String> {
        if !readings.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(format!("I4: readings not once and in order: {readings:?}"));
        }
        for hour in hours() {
            let told = readings.iter().filter(|(at, _)| hour_of(*at) == hour);
            let told = values(sensor, told);
            let of = |id: &Identity| id.0 == sensor && hour_of(id.1) == hour;
            let is = |at_a_moment: &Values| same(at_a_moment, &told);
            if !view.any_moment(self.start, view.now(), of, is) {
                let now = view.at(view.now(), of);
                return Err(format!("I4: readings {told:?}, there are {now:?}"));
            }
        }
        Ok(())
    }

    fn check_hourly(&self, told: &[(String, i32, Computed)], view: &View) -> Result<(), String> {
        let nothing = Computed::default();
        for sensor in SENSORS {
            for hour in hours() {
                let found = told.iter().find(|(s, h, _)| s == sensor && *h == hour);
                let computed = found.map_or(&nothing, |(_, _, computed)| computed);
                let of = |id: &Identity| id.0 == sensor && hour_of(id.1) == hour;
                let is = |at_a_moment: &Values| says(computed, instants(at_a_moment), at_a_moment);
                if !view.any_moment(self.start, view.now(), of, is) {
                    let now = view.at(view.now(), of);
                    return Err(format!("I4: hourly {computed:?}, there are {now:?}"));
                }
            }
        }
        Ok(())
    }

    /// The newest reading of each sensor: none older than what was there when
    /// the query began, and the newest of its hour at some moment since.
    fn check_latest(
        &self,
        told: &[(String, Option<Instant>)],
        view: &View,
        may_lack: bool,
    ) -> Result<(), String> {
        for (sensor, latest) in told {
            let newest_before = self.instants_before(sensor, view).max();
            let told = values(sensor, latest.iter());
            let at = latest.as_ref().map(|(at, _)| *at);
            let of = |id: &Identity| id.0 == *sensor && Some(hour_of(id.1)) == at.map(hour_of);
            let is = |at_a_moment: &Values| {
                let newest = at_a_moment.keys().map(|id| id.1).max();
                let newest = at_a_moment.iter().filter(|(id, _)| Some(id.1) == newest);
                same(&newest.map(|(id, v)| (id.clone(), *v)).collect(), &told)
            };
            let is_so = view.any_moment(self.start, view.now(), of, is);
            if at < newest_before || !(is_so || (may_lack && is_written(&told, view))) {
                let now = view.at(view.now(), |id| id.0 == *sensor);
                return Err(format!("I4: latest {told:?}, there are {now:?}"));
            }
        }
        Ok(())
    }
}

impl Asked {
    /// The instants of a sensor that this process applied, or that its record
    /// had, when the query began.
    fn instants_before<'a>(&'a self, sensor: &'a str, view: &'a View) -> impl Iterator<Item = i64> {
        let own = view.own[..self.start.0].iter().enumerate();
        let own = own.filter(move |(place, (id, _))| {
            let mut later = view.deleted.iter();
            let is_deleted = later.any(|(behind, deletion)| {
                (*place..self.start.0).contains(&(behind.saturating_sub(1)))
                    && deletion.is_about(id)
            });
            id.0 == sensor && !is_deleted
        });
        let own = own.map(|(_, (id, _))| id.1);
        let told = self.in_records.iter().filter(move |(of, _)| of == sensor);
        own.chain(told.map(|(_, at)| *at))
    }

    /// The newest readings of a sensor: in order, each once and as it was at some
    /// moment since the query began, and none left out that was there before.
    fn check_recent(
        &self,
        sensor: &str,
        recent: &[Instant],
        view: &View,
        may_lack: bool,
    ) -> Result<(), String> {
        if !recent.is_sorted_by(|a, b| a.0 > b.0) || recent.len() > RECENT_READINGS {
            return Err(format!(
                "I4: newest readings not once and in order: {recent:?}"
            ));
        }
        let oldest = recent.last().filter(|_| recent.len() == RECENT_READINGS);
        let is_answered = |at: i64| recent.iter().any(|(told, _)| *told == at);
        let is_newer = |at: i64| oldest.is_none_or(|(oldest, _)| at > *oldest);
        let mut before = self.instants_before(sensor, view);
        let missing = before.find(|at| is_newer(*at) && !is_answered(*at));
        if let Some(missing) = missing {
            return Err(format!(
                "I4: the newest readings {recent:?} lack {missing:?}"
            ));
        }
        for instant in recent {
            let told = values(sensor, std::iter::once(instant));
            let of = |id: &Identity| id.0 == sensor && id.1 == instant.0;
            let is = |at_a_moment: &Values| same(at_a_moment, &told);
            let is_so = view.any_moment(self.start, view.now(), of, is);
            if !(is_so || (may_lack && is_written(&told, view))) {
                let now = view.at(view.now(), of);
                return Err(format!("I4: a newest reading {told:?}, there is {now:?}"));
            }
        }
        Ok(())
    }
}

/// Whether all of an answer was written by somebody, though more may be there.
fn is_written(told: &Values, view: &View) -> bool {
    let written = |id: &Identity, value: f64| {
        let mut events = view.own.iter().chain(&view.others);
        view.base.get(id) == Some(&value) || events.any(|e| e.0 == *id && e.1 == value)
    };
    told.iter().all(|(id, value)| written(id, *value))
}

fn hours() -> impl Iterator<Item = i32> {
    let first = hour_of(EPOCH);
    first..first + HOURS as i32
}

/// Instants as a map. A measure that stands twice in one shows up as a name of
/// its own.
fn values<'a>(sensor: &str, instants: impl Iterator<Item = &'a Instant>) -> Values {
    let mut values = Values::new();
    for (at, of_instant) in instants {
        for (measure, value) in of_instant {
            let mut identity = (sensor.to_owned(), *at, measure.clone());
            while values.contains_key(&identity) {
                identity.2.push_str(" again");
            }
            values.insert(identity, *value);
        }
    }
    values
}

/// Whether both hold the same, values bit for bit.
pub fn same(a: &Values, b: &Values) -> bool {
    let bits = |(id, value): (&Identity, &f64)| (id.clone(), value.to_bits());
    a.len() == b.len() && a.iter().map(bits).eq(b.iter().map(bits))
}
