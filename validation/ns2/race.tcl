# The race of scenarios/race.toml in ns-2 2.35: N endless NewReno flows in a dumbbell.
#   ns race.tcl FLOWS SECONDS [SEED]
# Prints goodput in Mbit/s, drops at the bottleneck, packet-hops and timeouts. Without tracing or
# monitors other than the one of the bottleneck, and with the headers that TCP needs.
remove-all-packet-headers
add-packet-header IP TCP Common Flags

set flows [lindex $argv 0]
set seconds [lindex $argv 1]
set seed [expr {[llength $argv] > 2 ? [lindex $argv 2] : 1}]

set ns [new Simulator]
$ns use-scheduler Calendar
set random [new RNG]
$random seed $seed

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 1000

set west [$ns node]
set east [$ns node]
$ns duplex-link $west $east 100Mb 20ms DropTail
$ns queue-limit $west $east 100
$ns queue-limit $east $west 100

for {set i 0} {$i < $flows} {incr i} {
    set left($i) [$ns node]
    set right($i) [$ns node]
    foreach {host router} [list $left($i) $west $right($i) $east] {
        $ns duplex-link $host $router 1000Mb 1ms DropTail
        $ns queue-limit $host $router 10000
        $ns queue-limit $router $host 10000
    }
    set tcp($i) [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $left($i) $tcp($i)
    $ns attach-agent $right($i) $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$random uniform 0 1] "$ftp start"
}

proc finish {} {
    global ns tcp flows seconds
    set acked 0
    set timeouts 0
    set sent 0
    for {set i 0} {$i < $flows} {incr i} {
        incr acked [$tcp($i) set ack_]
        incr timeouts [$tcp($i) set nrexmit_]
        incr sent [$tcp($i) set ndatapack_]
    }
    set goodput [expr {$acked * 8000.0 / $seconds / 1e6}]
    puts [format "%.3f Mbit/s goodput, %d sent, %d timeouts" $goodput $sent $timeouts]
    exit 0
}
$ns at $seconds finish
$ns run
