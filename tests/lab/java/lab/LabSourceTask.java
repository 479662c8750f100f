package lab;

import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** See LabSourceConnector. */
public final class LabSourceTask extends SourceTask {
    private String mode = "ok";

    @Override
    public String version() {
        return "lab-1.0";
    }

    @Override
    public void start(Map<String, String> properties) {
        mode = properties.getOrDefault("lab.mode", "ok");
        if (mode.equals("task-start-fails")) {
            throw new ConnectException("lab: task start refused");
        }
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Thread.sleep(200);
        if (mode.equals("task-poll-fails")) {
            throw new ConnectException("lab: poll refused");
        }
        return null;
    }

    @Override
    public void stop() { }
}
