# One flow over a drop-tail bottleneck in ns-2 2.35: the rows of
# validation/reference/single_flow.csv and of crates/sim/tests/tcp/ns2_overhead.rs.
#
#   ns single_flow.tcl VARIANT DELACK QUEUE SECONDS [OVERHEAD SEED]
#
# VARIANT: Tahoe, Reno, Newreno or Sack1; DELACK: 0 or 1; OVERHEAD in seconds.
foreach {variant delack queue seconds} $argv break
set overhead [expr {[llength $argv] > 4 ? [lindex $argv 4] : 0}]
ns-random [expr {[llength $argv] > 5 ? [lindex $argv 5] : 1}]

Agent/TCP set useHeaders_ false
Agent/TCP set window_ 10000
Agent/TCP set packetSize_ 1000
Agent/TCP set overhead_ $overhead

set ns [new Simulator]
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $to 10Mb 20ms DropTail
$ns queue-limit $from $to $queue
$ns queue-limit $to $from $queue

set tcp [expr {$variant == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$variant"}]
set sink Agent/TCPSink
if {$variant == "Sack1"} {append sink /Sack1}
if {$delack} {append sink /DelAck}
set tcp [new $tcp]
set sink [new $sink]
$ns attach-agent $from $tcp
$ns attach-agent $to $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc finish {} {
    global tcp seconds
    set goodput [expr [$tcp set ack_] * 8000.0 / $seconds / 1e6]
    puts "$goodput Mbit/s, sent [$tcp set ndatapack_], again [$tcp set nrexmitpack_], timeouts [$tcp set nrexmit_]"
    exit 0
}
$ns at 0.0 "$ftp start"
$ns at $seconds finish
$ns run
