# Serves the tests of PSGI: puts the compiled modules for this perl into @INC, and runs servers. The
# modules come from the folder blib of `make`, or build.pl builds them.

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path ();
use File::Temp qw(tempdir);

my $source = abs_path(dirname(__FILE__) . '/..');

if (-e "$source/blib/arch/auto/Mehari/Mehari.so") {
    unshift @INC, "$source/blib/lib/Mehari/compat", "$source/blib/lib", "$source/blib/arch";
}
else {
    chomp(my @folders = qx($^X $source/build.pl));
    die "the compiled side cannot be built\n" if $? || !@folders;
    unshift @INC, @folders;
}

# Returns the path of the program `mehari`, or undef if it is not built.
sub program {
    return (grep { defined && -x } $ENV{MEHARI_BIN}, map { "$source/../target/$_/mehari" } qw(release debug))[0];
}

package Server {
    # Starts a server for an application, given as text. `plackup`: starts plackup with these
    # arguments in place of `mehari serve`. `files`: writes these files too, name => text.
    sub start {
        my ($class, %how) = @_;
        my $folder = File::Temp::tempdir(CLEANUP => 1);
        my $self = bless { folder => $folder, log => "$folder/log" }, $class;
        $self->write($how{app}) if $how{app};
        $self->write($how{files}{$_}, $_) for keys %{ $how{files} || {} };
        my @command = $how{plackup}
            ? ($^X, "-I$source/lib", '-S', 'plackup', '-s', 'Mehari', @{ $how{plackup} })
            : (main::program(), 'serve', "$folder/app.psgi", '--listen', '127.0.0.1:0', '--workers', '1');
        pipe my $out, my $in or die "pipe: $!";
        $self->{process} = fork // die "fork: $!";
        if (!$self->{process}) {
            close $out;
            $ENV{MEHARI_BIN} = main::program();
            chdir $folder;
            open STDOUT, '>&', $in or die;
            open STDERR, '>', $self->{log} or die;
            exec @command;
        }
        close $in;
        my $ready = <$out> // die "the server does not start: " . $self->log;
        ($self->{port}) = $ready =~ m{serving http://127\.0\.0\.1:(\d+)/} or die "not the line of a server: $ready";
        $self->{out} = $out;
        return $self;
    }

    sub write {
        my ($self, $text, $name) = (@_, 'app.psgi');
        File::Path::make_path(File::Basename::dirname("$self->{folder}/$name"));
        open my $file, '>', "$self->{folder}/$name" or die "$name: $!";
        print {$file} $text;
        close $file;
    }

    sub log {
        my ($self) = @_;
        open my $file, '<', $self->{log} or die "log: $!";
        local $/;
        return scalar <$file>;
    }

    # Waits until the log has a line. Returns false if the line does not come.
    sub logged {
        my ($self, $pattern) = @_;
        for (1 .. 200) {
            return 1 if $self->log =~ $pattern;
            select undef, undef, undef, 0.05;
        }
        return 0;
    }

    # Makes the server start a new generation.
    sub reload {
        my ($self) = @_;
        kill HUP => $self->{process};
    }

    # Waits until the server answers a path with the expected body.
    sub answers {
        my ($self, $target, $expected) = @_;
        for (1 .. 200) {
            return 1 if $self->get($target) eq $expected;
            select undef, undef, undef, 0.05;
        }
        return 0;
    }

    # Sends one request on a connection of its own. Returns the bytes of the response.
    sub exchange {
        my ($self, $method, $target, @fields) = @_;
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port}, Timeout => 10) or die "connect: $@";
        print {$socket} join "\r\n", "$method $target HTTP/1.1", 'Host: localhost', 'Connection: close', @fields, '', '';
        local $/;
        return scalar <$socket>;
    }

    sub get {
        my ($self, $target, @fields) = @_;
        my %fields;
        for (@fields) {
            my ($name, $value) = split /: /, $_, 2;
            push @{ $fields{$name} }, $value;
        }
        my $answer = $self->agent->get("http://127.0.0.1:$self->{port}$target", { headers => \%fields });
        return wantarray ? @$answer{qw(status content headers)} : $answer->{content};
    }

    sub post {
        my ($self, $target, $body) = @_;
        return $self->agent->post("http://127.0.0.1:$self->{port}$target", { content => $body })->{content};
    }

    sub agent {
        my ($self) = @_;
        return $self->{agent} ||= HTTP::Tiny->new(timeout => 20, no_proxy => ['127.0.0.1']);
    }

    sub stop {
        my ($self) = @_;
        my $process = delete $self->{process} or return;
        kill TERM => $process;
        waitpid $process, 0;
        return $?;
    }

    sub DESTROY { my ($self) = @_; local $?; $self->stop }
}

1;
