# What mix.tcl and parking_lot.tcl share: conventions, random numbers, links and hosts. It reads the
# parameters `p`.
remove-all-packet-headers
add-packet-header IP TCP Common Flags RTP
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ $p(window)

set ns [new Simulator]
ns-random $p(seed)
set random [new RNG]
$random seed [expr 1000 + $p(seed)]

proc link {a b rate delay queue {discipline DropTail}} {
    global ns
    $ns duplex-link $a $b $rate $delay $discipline
    $ns queue-limit $a $b $queue
    $ns queue-limit $b $a $queue
}

proc attach {router} {
    global ns p
    set host [$ns node]
    link $host $router $p(access_rate) $p(access_delay) $p(access_queue)
    return $host
}
