//! Experiments: the store of them, project files, configurations, the reference runner, and the commands.

mod kept;
