//! A gate that admits everything.

use hourglass::decode::Gate;
use hourglass::model::{MeasureName, Micros, SensorId};

/// Admits every sensor and measure. All its stamps are one, so that an item does
/// not depend on those before it.
pub struct OpenGate(pub Micros);

impl Gate for OpenGate {
    fn next(&mut self) -> Micros {
        self.0
    }

    fn admit(&mut self, _: &SensorId) -> Result<(), usize> {
        Ok(())
    }

    fn admit_measures(
        &mut self,
        _: &SensorId,
        _: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        Ok(())
    }
}
