# What PSGI 1.1 and its extensions promise, one path for each promise.
use strict;
use warnings;

my $calls = 0;
my %path;

$path{'/env'} = sub {
    my $env = shift;
    my $text = join '', map {
        my $value = ref $env->{$_} eq 'ARRAY' ? join('.', @{ $env->{$_} }) : ref $env->{$_} || $env->{$_};
        $_ . '=' . (defined $value ? $value : 'undef') . "\n";
    } sort keys %$env;
    return [200, ['Content-Type' => 'text/plain'], [$text]];
};

$path{'/input'} = sub {
    my $env = shift;
    my $input = $env->{'psgi.input'};
    my @read;
    for (1 .. 2) {
        my $body = '';
        1 while $input->read($body, 1000, length $body);
        push @read, length $body;
        $input->seek(0, 0) or die "psgi.input does not seek";
    }
    return [200, ['Content-Type' => 'text/plain'], ["@read"]];
};

$path{'/lines'} = sub {
    my $input = shift->{'psgi.input'};
    my @lines;
    while (defined(my $line = $input->getline)) { push @lines, $line }
    return [200, ['Content-Type' => 'text/plain'], [scalar(@lines), ' ', @lines]];
};

$path{'/delayed'} = sub {
    return sub { shift->([200, ['Content-Type' => 'text/plain'], ['delayed']]) };
};

# The second part is written when a file with the requested name exists, or after a minute.
# over.
$path{'/stream'} = sub {
    my $file = shift->{QUERY_STRING};
    return sub {
        my $writer = shift->([200, ['Content-Type' => 'text/plain']]);
        $writer->write("first\n");
        for (1 .. 6_000) { last if -e $file; select undef, undef, undef, 0.01 }
        $writer->write("second\n");
        $writer->close;
    };
};

$path{'/iterator'} = sub {
    my @parts = ('a', '', 'b', 'c');
    package Iterator {
        sub getline { return shift @{ $_[0] } }
        sub close { return }
    }
    return [200, ['Content-Type' => 'text/plain'], bless \@parts, 'Iterator'];
};

$path{'/large'} = sub {
    my $piece = 'x' x 10_000;
    return [200, ['Content-Type' => 'application/octet-stream'], [($piece) x 1000]];
};

$path{'/cleanup'} = sub {
    my $env = shift;
    my ($file) = $env->{QUERY_STRING} =~ /file=([^&]+)/;
    push @{ $env->{'psgix.cleanup.handlers'} }, sub {
        select undef, undef, undef, 1;
        open my $out, '>', $file or die "$file: $!";
        print $out "cleaned\n";
        close $out;
    };
    return [200, ['Content-Type' => 'text/plain'], ['before the cleanup']];
};

$path{'/harakiri'} = sub {
    my $env = shift;
    $env->{'psgix.harakiri.commit'} = 1;
    return [200, ['Content-Type' => 'text/plain'], ["$$"]];
};

$path{'/pid'} = sub { return [200, ['Content-Type' => 'text/plain'], ["$$"]] };
$path{'/calls'} = sub { return [200, ['Content-Type' => 'text/plain'], [++$calls]] };

$path{'/hints'} = sub {
    my $env = shift;
    $env->{'psgix.informational'}->(103, ['Link' => '</style.css>; rel=preload']);
    return [200, ['Content-Type' => 'text/plain'], ['hinted']];
};

$path{'/errors'} = sub {
    my $env = shift;
    $env->{'psgi.errors'}->print("a word for the log\n");
    return [200, ['Content-Type' => 'text/plain'], ['said']];
};

$path{'/dies'} = sub { die "the app dies here\n" };
$path{'/dies-later'} = sub {
    return sub {
        my $writer = shift->([200, ['Content-Type' => 'text/plain']]);
        $writer->write('x' x 100_000);
        die "the app dies half way\n";
    };
};
$path{'/exits'} = sub { exit 0 };
$path{'/wide'} = sub { return [200, ['Content-Type' => 'text/plain'], ["\x{263A}"]] };
$path{'/nonsense'} = sub { return 'not a response' };
$path{'/no-body'} = sub { return [204, [], []] };
$path{'/cookies'} = sub {
    return [200, ['Content-Type' => 'text/plain', 'Set-Cookie' => 'a=1', 'Set-Cookie' => 'b=2'], ['two cookies']];
};

sub {
    my $env = shift;
    my $app = $path{ $env->{PATH_INFO} } or return [404, ['Content-Type' => 'text/plain'], ['no such promise']];
    return $app->($env);
};
