# Adds to an OVN schema (input 0) what the model in ovnkube's source (input 1)
# has and the packaged OVN lacks: ovnkube refuses a database without a column of
# its model. northd and ovn-controller ignore the added columns, so features that
# need them, such as AdminNetworkPolicy, do not work. ovn-ctl converts an existing
# database when the version differs, and requires a checksum only if there is one.
.[0] as $packaged | .[1].tables as $model
| $packaged
| .version = "99.0.0"
| del(.cksum)
| .tables |= with_entries(.value.columns = ($model[.key].columns // {}) + .value.columns)
| if .name == "OVN_Northbound" then
    .tables |= reduce ("ACL", "QoS") as $table (.; .[$table].columns.action = $model[$table].columns.action)
  else . end
